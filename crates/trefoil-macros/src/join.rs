//! `join!` and `try_join!`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Token};

/// The path to the crate, which is `$crate`, before the input that the user wrote.
pub(crate) struct Input<T> {
    pub(crate) krate: TokenTree,
    pub(crate) rest: T,
}

impl<T: Parse> Parse for Input<T> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self { krate: input.parse()?, rest: input.parse()? })
    }
}

struct Join {
    is_biased: bool,
    futures: Vec<Expr>,
}

impl Parse for Join {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let is_biased = parse_biased(input)?;
        let futures = Punctuated::<Expr, Token![,]>::parse_terminated(input)?;
        Ok(Self { is_biased, futures: futures.into_iter().collect() })
    }
}

/// `biased;`, if that comes next.
pub(crate) fn parse_biased(input: ParseStream<'_>) -> syn::Result<bool> {
    let fork = input.fork();
    let is_biased =
        fork.parse::<syn::Ident>().is_ok_and(|word| word == "biased") && fork.peek(Token![;]);
    if is_biased {
        input.parse::<syn::Ident>()?;
        input.parse::<Token![;]>()?;
    }
    Ok(is_biased)
}

pub(crate) fn expand(input: TokenStream, is_try: bool) -> TokenStream {
    let Input { krate, rest: Join { is_biased, futures } } =
        match (|input: ParseStream<'_>| Input::<Join>::parse(input)).parse2(input) {
            Ok(input) => input,
            Err(error) => return error.to_compile_error(),
        };
    // With this span, the user's expressions do not see the macro's names.
    let span = Span::mixed_site();
    let count = futures.len();
    let names: Vec<_> = (0..count).map(|n| format_ident!("future{n}", span = span)).collect();
    let indices = 0..count;
    let support = quote_spanned!(span=> #krate::macros::support);
    let check: Vec<_> = names
        .iter()
        .map(|name| {
            if is_try {
                quote_spanned! {span=>
                    else if #name.as_mut().failed() {
                        return #support::Poll::Ready(#support::Err(#name.as_mut().take_error()));
                    }
                }
            } else {
                TokenStream::new()
            }
        })
        .collect();
    let done = if is_try {
        quote_spanned!(span=> #support::Ok((#(#names.as_mut().take_ok(),)*)))
    } else {
        quote_spanned!(span=> (#(#names.as_mut().take(),)*))
    };
    let step = usize::from(!is_biased);
    quote_spanned! {span=> {
        // A separate `let` keeps the temporaries of `&mut temporary()` alive.
        #(let #names = #futures;)*
        #(let mut #names = #support::pin!(#support::maybe_done(#names));)*
        // Each poll starts with the next future. Otherwise the same future would be last each time
        // that the budget runs out.
        let mut first = 0usize;
        #support::poll_fn(move |cx| {
            let mut is_pending = false;
            let count: usize = #count;
            let start = first;
            if count > 0 {
                first = (first + #step) % count;
            }
            for offset in 0..count {
                let turn = start + offset;
                match if turn < count { turn } else { turn - count } {
                    #(#indices => {
                        if #support::Future::poll(#names.as_mut(), cx).is_pending() {
                            is_pending = true;
                        } #check
                    })*
                    _ => {}
                }
            }
            let _ = &cx;
            if is_pending { #support::Poll::Pending } else { #support::Poll::Ready(#done) }
        })
        .await
    }}
}
