//! The records of a bundle, read one inside the other: a list of records is never in memory, only
//! the one element that is read.
//!
//! Each record is read by what serde derives for it, from a map that gives it an empty list in the
//! place of the one whose elements were taken before. So the derived code still says what is
//! missing, unknown or there twice, and fields may stand in any order.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use anyhow::{Error, Result, anyhow};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

use super::Tables;
use super::meter::Meter;
use crate::record::{CellRecord, InvocationRecord, RaceRecord, RunRecord, SampleRecord};

/// A record, and the list of its that is taken element by element.
pub(super) trait Part: for<'de> Deserialize<'de> {
    const LIST: Option<&'static str>;
    type Element: Part;

    fn begin(_tables: &mut Tables<'_>) -> Result<()> {
        Ok(())
    }

    /// The record without that list, whose elements are kept already.
    fn keep(self, tables: &mut Tables<'_>, position: u32) -> Result<()>;
}

impl Part for RunRecord {
    const LIST: Option<&'static str> = Some("races");
    type Element = RaceRecord;

    fn keep(self, tables: &mut Tables<'_>, _: u32) -> Result<()> {
        tables.run(&self.header, &self.contenders)
    }
}

impl Part for RaceRecord {
    const LIST: Option<&'static str> = Some("cells");
    type Element = CellRecord;

    fn begin(tables: &mut Tables<'_>) -> Result<()> {
        tables.begin_race()
    }

    fn keep(self, tables: &mut Tables<'_>, position: u32) -> Result<()> {
        tables.race(position, &self)
    }
}

impl Part for CellRecord {
    const LIST: Option<&'static str> = Some("invocations");
    type Element = InvocationRecord;

    fn begin(tables: &mut Tables<'_>) -> Result<()> {
        tables.begin_cell()
    }

    fn keep(self, tables: &mut Tables<'_>, position: u32) -> Result<()> {
        tables.cell(position, &self)
    }
}

impl Part for InvocationRecord {
    const LIST: Option<&'static str> = Some("samples");
    type Element = SampleRecord;

    fn begin(tables: &mut Tables<'_>) -> Result<()> {
        tables.begin_invocation()
    }

    fn keep(self, tables: &mut Tables<'_>, _: u32) -> Result<()> {
        tables.invocation(&self)
    }
}

impl Part for SampleRecord {
    const LIST: Option<&'static str> = None;
    type Element = Self;

    fn keep(self, tables: &mut Tables<'_>, position: u32) -> Result<()> {
        tables.sample(position, &self)
    }
}

/// Everything that reading goes along with.
pub(super) struct Reading<'t> {
    tables: RefCell<Tables<'t>>,
    meter: &'t Meter,
    path: RefCell<Path>,
    /// The reason of an error that serde only passes on.
    refusal: RefCell<Option<Error>>,
}

/// Where reading stands: for each record that is open, its number in its list, and its field.
#[derive(Default)]
struct Path {
    /// Those that are closed are kept for the next: there are millions of samples.
    steps: Vec<(Option<u32>, String)>,
    open: usize,
}

impl Path {
    fn enter(&mut self, number: Option<u32>) {
        match self.steps.get_mut(self.open) {
            Some((old, field)) => {
                *old = number;
                field.clear();
            }
            None => self.steps.push((number, String::new())),
        }
        self.open += 1;
    }
}

impl fmt::Display for Path {
    /// `races[0].cells[3].outcome`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, (number, field)) in self.steps[..self.open].iter().enumerate() {
            number.map_or(Ok(()), |number| write!(f, "[{number}]"))?;
            let dot = if depth == 0 || field.is_empty() { "" } else { "." };
            write!(f, "{dot}{field}")?;
        }
        Ok(())
    }
}

impl<'t> Reading<'t> {
    pub(super) fn new(tables: Tables<'t>, meter: &'t Meter) -> Self {
        let (path, refusal) = (RefCell::default(), RefCell::default());
        Self { tables: RefCell::new(tables), meter, path, refusal }
    }

    pub(super) fn into_tables(self) -> Tables<'t> {
        self.tables.into_inner()
    }

    /// An error for serde to pass on, in the place of this one.
    pub(super) fn refuse<E: de::Error>(&self, reason: Error) -> E {
        self.refusal.replace(Some(reason));
        E::custom("refused")
    }

    /// What an error of serde's means.
    pub(super) fn explain(self, error: serde_json::Error) -> Error {
        if let Some(reason) = self.refusal.take() {
            return reason;
        }
        let path = self.path.into_inner();
        if error.is_data() && path.open > 0 {
            let place = path.to_string();
            let colon = if place.is_empty() { "" } else { ": " };
            let what = anyhow!("{place}{colon}{error}");
            return what.context("the run in this bundle does not have the shape of one");
        }
        Error::new(error)
            .context("this is not a bundle of Palio, which is JSON in UTF-8, or it was cut off")
    }

    fn keep<E: de::Error>(
        &self,
        keep: impl FnOnce(&mut Tables<'t>) -> Result<()>,
    ) -> Result<(), E> {
        keep(&mut self.tables.borrow_mut()).map_err(|error| self.refuse(error))
    }
}

/// Reads one record and keeps it.
pub(super) struct One<'r, 't, P> {
    reading: &'r Reading<'t>,
    /// In its list, if it is in one.
    number: Option<u32>,
    part: PhantomData<P>,
}

impl<'r, 't, P> One<'r, 't, P> {
    /// The only one of its kind, whose bytes are hashed.
    pub(super) fn the(reading: &'r Reading<'t>) -> Self {
        Self { reading, number: None, part: PhantomData }
    }
}

impl<'de, P: Part> DeserializeSeed<'de> for One<'_, '_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let (reading, meter) = (self.reading, self.reading.meter);
        if self.number.is_none() {
            meter.start();
        }
        meter.mark();
        reading.path.borrow_mut().enter(self.number);
        reading.keep(P::begin)?;
        let position = self.number.unwrap_or(0);
        let record: P = deserializer.deserialize_map(self)?;
        reading.keep(|tables| record.keep(tables, position))?;
        reading.path.borrow_mut().open -= 1;
        meter.mark();
        Ok(())
    }
}

impl<'de, P: Part> Visitor<'de> for One<'_, '_, P> {
    type Value = P;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<P, A::Error> {
        let fields =
            Fields { reading: self.reading, map, list: P::LIST, is_list: false, part: self.part };
        let record = P::deserialize(MapAccessDeserializer::new(fields))?;
        if self.number.is_none() {
            self.reading.meter.stop();
        }
        Ok(record)
    }
}

/// The fields of a record, whose list is taken out on the way.
struct Fields<'r, 't, A, P> {
    reading: &'r Reading<'t>,
    map: A,
    list: Option<&'static str>,
    /// The next value is the list.
    is_list: bool,
    part: PhantomData<P>,
}

impl<'de, A: MapAccess<'de>, P: Part> MapAccess<'de> for Fields<'_, '_, A, P> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let depth = self.reading.path.borrow().open - 1;
        let mut name = std::mem::take(&mut self.reading.path.borrow_mut().steps[depth].1);
        let is_there = self.map.next_key_seed(Key(&mut name))?.is_some();
        self.is_list = self.list == Some(name.as_str());
        let key = is_there.then(|| seed.deserialize(name.as_str().into_deserializer())).transpose();
        if !is_there {
            name.clear();
        }
        self.reading.path.borrow_mut().steps[depth].1 = name;
        key
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if !self.is_list {
            return self.map.next_value_seed(seed);
        }
        let list = Many::<P::Element> { reading: self.reading, part: PhantomData };
        self.map.next_value_seed(list)?;
        seed.deserialize(SeqDeserializer::new(std::iter::empty::<u8>()))
    }
}

/// Reads a key into a string that is used again.
struct Key<'k>(&'k mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<(), E> {
        self.0.clear();
        self.0.push_str(key);
        Ok(())
    }
}

/// Reads a list of records one after the other.
struct Many<'r, 't, P> {
    reading: &'r Reading<'t>,
    part: PhantomData<P>,
}

impl<'de, P: Part> DeserializeSeed<'de> for Many<'_, '_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, P: Part> Visitor<'de> for Many<'_, '_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for number in 0.. {
            let one = One::<P> { reading: self.reading, number: Some(number), part: PhantomData };
            if list.next_element_seed(one)?.is_none() {
                break;
            }
        }
        Ok(())
    }
}
