//! Enums that are words in files, databases and reports.

/// Defines an enum with a word for each value: how it is written, read, stored and shown.
///
/// What is none of the words is refused with a sentence that lists them.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $what:literal: $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ::schemars::JsonSchema)]
        pub enum $name {
            $($(#[$doc])* #[schemars(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let known = Self::ALL.iter().copied().find(|value| value.name() == text);
                known.ok_or_else(|| $crate::words::unknown_word($what, text, &[$($word),+]))
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <::std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;

/// `"asink" is no kind: write `async`, `fork-join` or `baseline``.
pub(crate) fn unknown_word(what: &str, text: &str, words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let choice = match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        all => all.concat(),
    };
    format!("{text:?} is no {what}: write {choice}")
}

#[cfg(test)]
mod tests {
    use crate::contender::Kind;

    #[test]
    fn a_value_is_its_word_everywhere() {
        for &kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
            assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), kind);
        }
    }

    #[test]
    fn another_word_is_refused_with_those_that_there_are() {
        let error =
            "\"asink\" is no kind: write `async`, `fork-join`, `green-threads` or `baseline`";
        assert_eq!("asink".parse::<Kind>(), Err(error.to_owned()));
        let json = serde_json::from_str::<Kind>("\"asink\"").unwrap_err().to_string();
        assert!(json.contains(error), "{json}");
    }
}
