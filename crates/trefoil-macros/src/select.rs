//! `select!`.

use crate::join::{Chain, Input, parse_biased};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Error, Expr, Ident, Pat, Token};

struct Select {
    is_biased: bool,
    branches: Vec<Branch>,
    otherwise: Option<Expr>,
}

struct Branch {
    pattern: Pat,
    future: Expr,
    condition: Option<Expr>,
    handler: Expr,
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let is_biased = parse_biased(input)?;
        let mut branches = Vec::new();
        let mut otherwise = None;
        while !input.is_empty() {
            if input.peek(Token![else]) {
                input.parse::<Token![else]>()?;
                input.parse::<Token![=>]>()?;
                otherwise = Some(parse_handler(input)?);
                if !input.is_empty() {
                    return Err(input.error("`else` comes last"));
                }
                break;
            }
            let pattern = Pat::parse_multi_with_leading_vert(input)?;
            input.parse::<Token![=]>()?;
            let future = input.parse()?;
            let condition = if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
                input.parse::<Token![if]>()?;
                Some(input.parse()?)
            } else {
                None
            };
            input.parse::<Token![=>]>()?;
            let handler = parse_handler(input)?;
            branches.push(Branch { pattern, future, condition, handler });
        }
        if branches.is_empty() && otherwise.is_none() {
            return Err(Error::new(Span::call_site(), "`select!` needs a branch, or `else`"));
        }
        if branches.len() > 64 {
            return Err(Error::new(Span::call_site(), "`select!` has 64 branches at most"));
        }
        Ok(Self { is_biased, branches, otherwise })
    }
}

/// The comma after a block is optional, as in `match`.
fn parse_handler(input: ParseStream<'_>) -> syn::Result<Expr> {
    let handler = if input.peek(syn::token::Brace) {
        // Parses the block alone: in `{ .. } (a, b) = ..`, the block is not called.
        let block: syn::Block = input.parse()?;
        Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block })
    } else {
        let handler = input.parse()?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("expected `,`"));
        }
        handler
    };
    if input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
    }
    Ok(handler)
}

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let Input { krate, rest: Select { is_biased, branches, otherwise } } =
        match (|input: ParseStream<'_>| Input::<Select>::parse(input)).parse2(input) {
            Ok(input) => input,
            Err(error) => return error.to_compile_error(),
        };
    // With this span, the user's expressions do not see the macro's variables. They do see its
    // items, whose names therefore are nobody else's.
    let span = Span::mixed_site();
    let outputs = format_ident!("__TrefoilSelectOutputs", span = span);
    let support = quote_spanned!(span=> #krate::macros::support);
    let count = branches.len();
    let bits: Vec<u64> = (0..count).map(|n| 1 << n).collect();
    let indices: Vec<u32> = (0..count as u32).collect();
    let total = count as u32;
    let names: Vec<Ident> = (0..count).map(|n| format_ident!("future{n}", span = span)).collect();
    let variants: Vec<Ident> =
        (0..count).map(|n| format_ident!("Branch{n}", span = span)).collect();
    let types: Vec<Ident> = (0..count).map(|n| format_ident!("T{n}", span = span)).collect();
    let futures = branches.iter().map(|branch| &branch.future);
    let futures_of = Chain { support: &support, span };
    let chain =
        futures_of.of(names.iter().map(|name| quote!(#support::IntoFuture::into_future(#name))));
    let nth: Vec<_> = (0..count).map(|n| futures_of.nth(n)).collect();
    let conditions = branches.iter().map(|branch| match &branch.condition {
        Some(condition) => quote!(#condition),
        None => quote!(true),
    });
    let tests = branches.iter().map(|branch| {
        let mut pattern = branch.pattern.clone();
        without_bindings(&mut pattern);
        pattern
    });
    let patterns = branches.iter().map(|branch| &branch.pattern);
    let handlers = branches.iter().map(|branch| &branch.handler);
    let start = if is_biased {
        quote_spanned!(span=> 0u32)
    } else {
        quote_spanned!(span=> #support::random(#total))
    };
    let disabled = match &otherwise {
        Some(otherwise) => quote!(#otherwise),
        None => quote_spanned! {span=>
            ::core::panic!("every branch of `select!` is disabled: give it an `else` branch")
        },
    };
    quote_spanned! {span=> {
        enum #outputs<#(#types),*> {
            #(#variants(#types),)*
            Disabled,
        }
        #[allow(unused_mut)]
        let mut output = {
            let mut disabled = 0u64;
            #(if !(#conditions) {
                disabled |= #bits;
            })*
            // The futures of disabled branches are made, too. All of them are dropped before a
            // handler runs. A separate `let` keeps the temporaries of `&mut temporary()` alive.
            #(let #names = #futures;)*
            // In one place, so that the future that awaits them keeps one pointer to all of them.
            #[allow(unused_mut)]
            let mut futures = #support::pin!(#chain);
            #support::poll_fn(move |cx| {
                let _ = &mut futures;
                if #support::poll_budget(cx).is_pending() {
                    return #support::Poll::Pending;
                }
                let mut is_pending = false;
                let start: u32 = #start;
                for offset in 0..#total {
                    let turn = start + offset;
                    match if turn < #total { turn } else { turn - #total } {
                        #(#indices => {
                            if disabled & #bits != 0 {
                                continue;
                            }
                            let output = match #support::Future::poll(#nth, cx) {
                                #support::Poll::Ready(output) => output,
                                #support::Poll::Pending => {
                                    is_pending = true;
                                    continue;
                                }
                            };
                            disabled |= #bits;
                            #[allow(unused_variables, unused_mut, unreachable_patterns, clippy::all)]
                            match &output {
                                #tests => {}
                                _ => continue,
                            }
                            return #support::Poll::Ready(#outputs::#variants(output));
                        })*
                        _ => ::core::unreachable!(),
                    }
                }
                if is_pending {
                    #support::Poll::Pending
                } else {
                    #support::Poll::Ready(#outputs::Disabled)
                }
            })
            .await
        };
        #[allow(unreachable_patterns)]
        match output {
            #(#outputs::#variants(#patterns) => #handlers,)*
            #outputs::Disabled => #disabled,
            _ => ::core::unreachable!("the pattern has matched before"),
        }
    }}
}

/// Removes the bindings of a pattern, so that it can be tested against a reference: the test binds
/// nothing by value.
fn without_bindings(pattern: &mut Pat) {
    match pattern {
        Pat::Ident(ident) => {
            ident.by_ref = None;
            ident.mutability = None;
            if let Some((_, inner)) = &mut ident.subpat {
                without_bindings(inner);
            }
        }
        Pat::Or(or) => or.cases.iter_mut().for_each(without_bindings),
        Pat::Paren(paren) => without_bindings(&mut paren.pat),
        Pat::Reference(reference) => without_bindings(&mut reference.pat),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(without_bindings),
        Pat::Struct(fields) => {
            fields.fields.iter_mut().for_each(|field| without_bindings(&mut field.pat));
        }
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(without_bindings),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(without_bindings),
        Pat::Type(typed) => without_bindings(&mut typed.pat),
        _ => {}
    }
}
