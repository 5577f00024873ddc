//! `join!` and `try_join!`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
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
    let futures_of = Chain { support: &support, span };
    let chain = futures_of.of(names.iter().map(|name| quote!(#support::maybe_done(#name))));
    let nth: Vec<_> = (0..count).map(|n| futures_of.nth(n)).collect();
    let check: Vec<_> = nth
        .iter()
        .map(|nth| {
            if is_try {
                quote_spanned! {span=>
                    else if #nth.failed() {
                        return #support::Poll::Ready(#support::Err(#nth.take_error()));
                    }
                }
            } else {
                TokenStream::new()
            }
        })
        .collect();
    let done = if is_try {
        quote_spanned!(span=> #support::Ok((#(#nth.take_ok(),)*)))
    } else {
        quote_spanned!(span=> (#(#nth.take(),)*))
    };
    // Each poll starts with the next future. Otherwise the same future would be last each time
    // that the budget runs out. Only what turns has to be kept.
    let (first, turn) = if is_biased || count < 2 {
        (TokenStream::new(), quote_spanned!(span=> let start = 0usize;))
    } else {
        let first = quote_spanned!(span=> let mut first = 0usize;);
        let turn = quote_spanned! {span=>
            let start = first;
            first = (first + 1) % #count;
        };
        (first, turn)
    };
    quote_spanned! {span=> {
        // A separate `let` keeps the temporaries of `&mut temporary()` alive.
        #(let #names = #futures;)*
        // In one place, so that the future that awaits them keeps one pointer to all of them.
        #[allow(unused_mut)]
        let mut futures = #support::pin!(#chain);
        #first
        #support::poll_fn(move |cx| {
            let mut is_pending = false;
            let count: usize = #count;
            #turn
            for offset in 0..count {
                let turn = start + offset;
                match if turn < count { turn } else { turn - count } {
                    #(#indices => {
                        if #support::Future::poll(#nth, cx).is_pending() {
                            is_pending = true;
                        } #check
                    })*
                    _ => {}
                }
            }
            let _ = (&cx, &mut futures);
            if is_pending { #support::Poll::Pending } else { #support::Poll::Ready(#done) }
        })
        .await
    }}
}

/// Futures that are pinned together, one behind the other.
pub(crate) struct Chain<'a> {
    /// The path to what the expansion refers to.
    pub(crate) support: &'a TokenStream,
    pub(crate) span: Span,
}

impl Chain<'_> {
    /// The expression of the chain.
    pub(crate) fn of(&self, futures: impl DoubleEndedIterator<Item = TokenStream>) -> TokenStream {
        let Self { support, span } = self;
        futures.rev().fold(
            quote_spanned!(*span=> ()),
            |rest, first| quote_spanned!(*span=> #support::Chain::new(#first, #rest)),
        )
    }

    /// The `n`th future of a chain that is pinned in the variable `futures`.
    pub(crate) fn nth(&self, n: usize) -> TokenStream {
        let rest = std::iter::repeat_n(quote_spanned!(self.span=> .rest()), n);
        quote_spanned!(self.span=> futures.as_mut() #(#rest)* .first())
    }
}
