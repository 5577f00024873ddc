//! What the guards of locks have in common.

/// `Debug` and `Display` of a guard are those of its value.
macro_rules! show_as_value {
    ($([$($generics:tt)*] $guard:ty => $value:ty;)*) => {$(
        impl<$($generics)*> std::fmt::Debug for $guard
        where
            $value: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $guard
        where
            $value: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    )*};
}

/// Shared access by a guard's pointer, its field `part`.
macro_rules! deref_part {
    ($([$($generics:tt)*] $guard:ty => $value:ty;)*) => {$(
        impl<$($generics)*> std::ops::Deref for $guard {
            type Target = $value;

            #[inline]
            fn deref(&self) -> &$value {
                // SAFETY: by the invariant of the guard, the pointer is valid for reads as long as
                // the guard lives, and nobody writes meanwhile but by a mutable borrow of it.
                unsafe { self.part.as_ref() }
            }
        }
    )*};
}

/// Exclusive access by a guard's pointer, its field `part`.
macro_rules! deref_part_mut {
    ($([$($generics:tt)*] $guard:ty => $value:ty;)*) => {$(
        impl<$($generics)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut $value {
                // SAFETY: by the invariant of the guard, nobody else reaches the value as long as
                // the guard lives, and the guard is borrowed mutably.
                unsafe { self.part.as_mut() }
            }
        }
    )*};
}

pub(super) use {deref_part, deref_part_mut, show_as_value};
