//! A bounded channel against a plain model, with senders that give up at random.

use crate::polls::poll_once;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use trefoil::sync::mpsc::error::{TryRecvError, TrySendError};
use trefoil::sync::mpsc::{self, OwnedPermit, Receiver, Sender};

/// A message: a number, and a count of what is alive.
type Message = (u64, Arc<()>);

struct Random(u64);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}

#[derive(PartialEq)]
enum Wait {
    Queued,
    Granted,
    Refused,
}

struct Sending {
    number: u64,
    future: Pin<Box<dyn Future<Output = bool>>>,
    /// What the model says of it.
    wait: Wait,
}

struct Both {
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    alive: Arc<()>,
    /// In the order in which they asked.
    sending: Vec<Sending>,
    permits: Vec<OwnedPermit<Message>>,
    next: u64,
    // The model.
    capacity: usize,
    free: usize,
    queue: VecDeque<u64>,
    closed: bool,
}

impl Both {
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = mpsc::channel(capacity);
        Self {
            sender,
            receiver,
            alive: Arc::new(()),
            sending: Vec::new(),
            permits: Vec::new(),
            next: 0,
            capacity,
            free: capacity,
            queue: VecDeque::new(),
            closed: false,
        }
    }

    fn message(&mut self) -> Message {
        self.next += 1;
        (self.next, Arc::clone(&self.alive))
    }

    /// Room comes back: it goes to whoever has waited the longest.
    fn give_back(&mut self) {
        match self.sending.iter_mut().find(|sending| sending.wait == Wait::Queued) {
            Some(first) => first.wait = Wait::Granted,
            None => self.free += 1,
        }
    }

    fn try_send(&mut self) {
        let message = self.message();
        let number = message.0;
        match self.sender.try_send(message) {
            Ok(()) => {
                assert!(!self.closed && self.free > 0);
                self.free -= 1;
                self.queue.push_back(number);
            }
            Err(TrySendError::Full(_)) => assert!(!self.closed && self.free == 0),
            Err(TrySendError::Closed(_)) => assert!(self.closed),
        }
    }

    fn begin_to_send(&mut self) {
        let (sender, message) = (self.sender.clone(), self.message());
        let number = message.0;
        let mut future: Pin<Box<dyn Future<Output = bool>>> =
            Box::pin(async move { sender.send(message).await.is_ok() });
        match poll_once(future.as_mut()) {
            Poll::Ready(sent) => {
                assert_eq!(sent, !self.closed);
                if sent {
                    self.free = self.free.checked_sub(1).expect("there was room");
                    self.queue.push_back(number);
                }
            }
            Poll::Pending => {
                assert!(!self.closed && self.free == 0);
                self.sending.push(Sending { number, future, wait: Wait::Queued });
            }
        }
    }

    fn poll_sending(&mut self, place: usize) {
        let sending = &mut self.sending[place];
        let polled = poll_once(sending.future.as_mut());
        match (polled, &sending.wait) {
            (Poll::Pending, Wait::Queued) => return,
            (Poll::Ready(false), Wait::Refused) => {}
            // Room that was given before the channel was closed goes back.
            (Poll::Ready(false), Wait::Granted) if self.closed => self.free += 1,
            (Poll::Ready(true), Wait::Granted) if !self.closed => {
                self.queue.push_back(sending.number);
            }
            (polled, _) => panic!("{polled:?} is not what the model says"),
        }
        self.sending.remove(place);
    }

    fn give_up(&mut self, place: usize) {
        if self.sending.remove(place).wait == Wait::Granted {
            self.give_back();
        }
    }

    fn receive(&mut self) {
        match self.receiver.try_recv() {
            Ok((number, _)) => {
                assert_eq!(Some(number), self.queue.pop_front());
                self.give_back();
            }
            Err(error) => {
                assert!(self.queue.is_empty());
                let is_over = self.closed && self.free == self.capacity;
                assert_eq!(error == TryRecvError::Disconnected, is_over);
            }
        }
    }

    fn reserve(&mut self) {
        if let Ok(permit) = self.sender.clone().try_reserve_owned() {
            assert!(!self.closed);
            self.free = self.free.checked_sub(1).expect("there was room");
            self.permits.push(permit);
        } else {
            assert!(self.closed || self.free == 0);
        }
    }

    fn use_permit(&mut self, place: usize, send: bool) {
        let permit = self.permits.remove(place);
        if send {
            let message = self.message();
            self.queue.push_back(message.0);
            drop(permit.send(message));
        } else {
            drop(permit);
            self.give_back();
        }
    }

    fn close(&mut self) {
        self.receiver.close();
        self.closed = true;
        for sending in &mut self.sending {
            if sending.wait == Wait::Queued {
                sending.wait = Wait::Refused;
            }
        }
    }

    fn step(&mut self, random: &mut Random) {
        let (waiting, permits) = (self.sending.len(), self.permits.len());
        match random.below(100) {
            0..15 => self.try_send(),
            15..35 => self.begin_to_send(),
            35..50 if waiting > 0 => self.poll_sending(random.below(waiting)),
            50..60 if waiting > 0 => self.give_up(random.below(waiting)),
            60..70 => self.reserve(),
            70..80 if permits > 0 => self.use_permit(random.below(permits), random.below(2) == 0),
            99 if random.below(10) == 0 => self.close(),
            _ => self.receive(),
        }
        assert_eq!(self.receiver.len(), self.queue.len());
        assert_eq!(self.sender.capacity(), self.free);
        // Every message that is alive is in the channel, or waits for it.
        assert_eq!(Arc::strong_count(&self.alive), 1 + self.queue.len() + self.sending.len());
    }
}

#[test]
fn a_channel_does_what_the_model_says() {
    let mut closed = 0;
    for seed in 1..=400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let capacity = 1 + random.below(5);
        let mut both = Both::new(capacity);
        for _ in 0..500 {
            both.step(&mut random);
        }
        closed += usize::from(both.closed);
        let Both { sender, receiver, alive, sending, permits, .. } = both;
        let waiting = sending.len();
        // What is in the channel goes with the receiver, though there are senders and permits.
        drop(receiver);
        assert_eq!(Arc::strong_count(&alive), 1 + waiting);
        drop((sending, permits, sender));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
    // Both kinds of ends were met.
    assert!(closed > 50 && closed < 350, "{closed} of 400 were closed");
}
