//! `#[main]` and `#[test]`.

use crate::name;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, MetaNameValue, Path, Token};

struct Options {
    is_multi: bool,
    is_local: bool,
    worker_threads: Option<(usize, Span)>,
    start_paused: Option<(bool, Span)>,
    name: Option<String>,
    unhandled_panic: Option<(String, Span)>,
    krate: Path,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream, is_test: bool) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return with_error(item, &error),
    };
    match try_expand(options, function, is_test) {
        Ok(tokens) => tokens,
        Err(error) => with_error(item, &error),
    }
}

/// Keeps the item beside the error, so that editors still know it.
fn with_error(item: TokenStream, error: &Error) -> TokenStream {
    let error = error.to_compile_error();
    quote! { #error #item }
}

fn try_expand(
    options: TokenStream,
    mut function: ItemFn,
    is_test: bool,
) -> Result<TokenStream, Error> {
    if function.sig.asyncness.take().is_none() {
        return Err(Error::new(
            function.sig.fn_token.span(),
            "a runtime runs an `async fn`: this function is not `async`",
        ));
    }
    if !is_test && function.sig.ident == "main" && !function.sig.inputs.is_empty() {
        return Err(Error::new(function.sig.inputs.span(), "`main` takes no arguments"));
    }
    let options = parse(options, is_test)?;
    let Options { is_multi, is_local, worker_threads, start_paused, name, .. } = options;
    let krate = options.krate;
    let unhandled_panic = match options.unhandled_panic {
        None => None,
        Some((text, span)) => {
            let behavior = match text.as_str() {
                "ignore" => quote!(Ignore),
                "shutdown_runtime" if !is_multi => quote!(ShutdownRuntime),
                "shutdown_runtime" => {
                    return Err(Error::new(
                        span,
                        "`shutdown_runtime` needs `flavor = \"current_thread\"` or `\"local\"`",
                    ));
                }
                _ => {
                    return Err(Error::new(
                        span,
                        "`unhandled_panic` is `\"ignore\"` or `\"shutdown_runtime\"`",
                    ));
                }
            };
            Some(quote!(.unhandled_panic(#krate::runtime::UnhandledPanic::#behavior)))
        }
    };

    let constructor = if is_multi { quote!(new_multi_thread) } else { quote!(new_current_thread) };
    let build = if is_local {
        quote!(build_local(::core::default::Default::default()))
    } else {
        quote!(build())
    };
    let workers = worker_threads.map(|(n, _)| quote!(.worker_threads(#n)));
    let paused = start_paused.map(|(paused, _)| quote!(.start_paused(#paused)));
    let name = name.map(|name| quote!(.name(#name)));
    let header = is_test.then(|| quote!(#[::core::prelude::v1::test]));
    let (attributes, visibility, signature) = (&function.attrs, &function.vis, &function.sig);
    let body = &function.block;
    // Errors about the body's type point at its end, as they do in a function without the macro.
    let end = body.stmts.last().map_or_else(|| body.span(), Spanned::span);
    // One name for both places. That of `end` is another one where a `macro_rules` wrote the end.
    let future = Ident::new("body", Span::call_site());
    let run = quote_spanned! {end=>
        #krate::runtime::Builder::#constructor()
            #workers
            #paused
            #name
            #unhandled_panic
            .enable_all()
            .#build
            .expect("the runtime of this function could not be built")
            .block_on(#future)
    };
    Ok(quote! {
        #header
        #(#attributes)*
        #visibility #signature {
            // The name may be tokio's, because something stands in for it: see `name.rs`.
            const _: () = #krate::macros::support::IS_TREFOIL;
            let #future = async #body;
            #[allow(clippy::expect_used, clippy::needless_return)]
            return #run;
        }
    })
}

fn parse(options: TokenStream, is_test: bool) -> Result<Options, Error> {
    let pairs = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(options)?;
    let mut flavor = None;
    let mut worker_threads = None;
    let mut start_paused = None;
    let mut runtime_name = None;
    let mut unhandled_panic = None;
    let mut krate = None;
    for pair in pairs {
        let name = pair.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let span = pair.value.span();
        let Expr::Lit(ExprLit { lit, .. }) = &pair.value else {
            return Err(Error::new(span, "the value of an option is a literal"));
        };
        match (name.as_str(), lit) {
            ("flavor", Lit::Str(text)) => flavor = Some((text.value(), span)),
            ("worker_threads", Lit::Int(n)) => {
                worker_threads = Some((n.base10_parse::<usize>()?, span));
            }
            ("start_paused", Lit::Bool(paused)) => start_paused = Some((paused.value, span)),
            ("name", Lit::Str(text)) => runtime_name = Some(text.value()),
            ("unhandled_panic", Lit::Str(text)) => unhandled_panic = Some((text.value(), span)),
            ("crate", Lit::Str(path)) => krate = Some(path.parse()?),
            (
                "flavor" | "worker_threads" | "start_paused" | "name" | "unhandled_panic" | "crate",
                _,
            ) => {
                return Err(Error::new(span, format!("`{name}` takes a value of another type")));
            }
            _ => {
                return Err(Error::new(
                    pair.path.span(),
                    "no such option; there are `flavor`, `worker_threads`, `start_paused`, \
                     `name`, `unhandled_panic` and `crate`",
                ));
            }
        }
    }
    let is_multi = match &flavor {
        None => !is_test,
        Some((name, span)) => match name.as_str() {
            "multi_thread" => true,
            "current_thread" | "local" => false,
            _ => {
                return Err(Error::new(
                    *span,
                    "no such runtime flavor; there are `current_thread`, `multi_thread` and `local`",
                ));
            }
        },
    };
    let is_local = flavor.is_some_and(|(name, _)| name == "local");
    match worker_threads {
        Some((0, span)) => {
            return Err(Error::new(span, "`worker_threads` must be 1 or more"));
        }
        Some((_, span)) if !is_multi => {
            return Err(Error::new(span, "`worker_threads` needs `flavor = \"multi_thread\"`"));
        }
        _ => {}
    }
    if let (Some((_, span)), true) = (start_paused, is_multi) {
        return Err(Error::new(
            span,
            "`start_paused` needs `flavor = \"current_thread\"` or `\"local\"`",
        ));
    }
    let name = runtime_name;
    let krate = match krate {
        Some(krate) => krate,
        None => syn::parse_str::<Path>(&format!("::{}", name::of_trefoil()))?,
    };
    Ok(Options { is_multi, is_local, worker_threads, start_paused, name, unhandled_panic, krate })
}
