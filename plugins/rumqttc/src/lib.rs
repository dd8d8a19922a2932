//! The driver of rumqttc: everything on the thread of drive(), in a current-thread tokio runtime. One
//! future serves each connection and completes messages as its event loop reports them; what there is to
//! publish is handed over without waiting, after completions and by a timer. README.md beside this crate
//! says what each completion stands for and why each setting is what it is.

mod connection;

use connection::{Client, Happening, Loop, TlsVersion, CONNECT_SECONDS};
use futures_util::stream::{FuturesUnordered, StreamExt};
use mqcore_driver::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep_until, timeout, Instant, Sleep};

const DISCONNECT_SECONDS: u64 = 2;
const NO_SLOT: u16 = u16::MAX;

struct Connection {
    client: Client,
    event_loop: Loop,
    /// Slots of the messages that the event loop has not taken yet, in order.
    handed_over: RefCell<VecDeque<u16>>,
}

struct Rumqttc {
    host: Host,
    runtime: Runtime,
    connections: Vec<Connection>,
    topics: Vec<String>,
    early: u32,
}

fn library(text: impl ToString) -> Failure {
    Failure::new(Status::Library, text.to_string())
}

fn network(text: impl Into<String>) -> Failure {
    Failure::new(Status::Network, text)
}

fn check_granted(run: &Run, granted: &[Option<u8>]) -> Result<(), Failure> {
    for (filter, granted) in run.filters().iter().zip(granted) {
        match granted {
            None => {
                return Err(network(format!(
                    "the broker refused to subscribe '{filter}'"
                )))
            }
            Some(qos) if *qos < run.filter_qos() => {
                return Err(Failure::new(
                    Status::Unsupported,
                    format!(
                        "the broker granted QoS {qos} for '{filter}', QoS {} was asked for",
                        run.filter_qos()
                    ),
                ))
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Connection {
    /// Until CONNACK and SUBACK are there.
    async fn open(&mut self, run: &Run<'_>) -> Result<u32, Failure> {
        let mut early = 0;
        loop {
            let happening = self.event_loop.next().await.map_err(|error| {
                network(format!(
                    "connect to '{}' port {}: {error}",
                    run.host(),
                    run.port()
                ))
            })?;
            match happening {
                Happening::Connected if run.filters().is_empty() => return Ok(early),
                Happening::Connected => self
                    .client
                    .subscribe(&run.filters(), run.filter_qos())
                    .map_err(|error| library(format!("subscribe: {error}")))?,
                Happening::Subscribed(granted) => {
                    check_granted(run, &granted)?;
                    return Ok(early);
                }
                Happening::Arrived(_) => early += 1,
                _ => {}
            }
        }
    }

    /// Until DISCONNECT is written.
    async fn close(&mut self) {
        if self.client.disconnect().is_ok() {
            while let Ok(happening) = self.event_loop.next().await {
                if matches!(happening, Happening::Left) {
                    return;
                }
            }
        }
    }
}

/// What the futures of one drive() share; they run on one thread.
struct Driving<'a> {
    source: RefCell<Source<'a>>,
    completions: Completions,
    arrivals: RefCell<Arrivals>,
    clients: Vec<(&'a Client, &'a RefCell<VecDeque<u16>>)>,
    topics: &'a [String],
    /// Until when there is nothing to send.
    timer: RefCell<Pin<Box<Sleep>>>,
    /// The same instant on both clocks: wake_ns is of CLOCK_MONOTONIC.
    began: (Instant, u64),
    is_over: Cell<bool>,
}

impl Driving<'_> {
    /// Hands over what there is to send.
    fn pump(&self) -> Result<(), Failure> {
        let mut source = self.source.borrow_mut();
        while !self.is_over.get() {
            match source.next() {
                Next::Send(message) => {
                    let (client, handed_over) = &self.clients[message.connection()];
                    client
                        .publish(&self.topics[message.topic()], &message)
                        .map_err(|error| library(format!("publish: {error}")))?;
                    handed_over.borrow_mut().push_back(message.slot());
                }
                Next::Wait | Next::Drain => {
                    let wake = Duration::from_nanos(source.wake_ns().saturating_sub(self.began.1));
                    self.timer.borrow_mut().as_mut().reset(self.began.0 + wake);
                    return Ok(());
                }
                Next::Stop => {
                    self.is_over.set(true);
                    self.timer.borrow_mut().as_mut().reset(Instant::now());
                }
            }
        }
        Ok(())
    }

    /// Whenever the timer says so; returns at the end.
    async fn keep_time(&self) -> Result<(), Failure> {
        loop {
            poll_fn(|context| self.timer.borrow_mut().as_mut().poll(context)).await;
            if self.is_over.get() {
                return Ok(());
            }
            self.pump()?;
            if self.is_over.get() {
                return Ok(());
            }
        }
    }

    /// Serves one connection; returns only when it is lost.
    async fn serve(
        &self,
        index: usize,
        event_loop: &mut Loop,
        handed_over: &RefCell<VecDeque<u16>>,
    ) -> Result<(), Failure> {
        let mut slots = vec![NO_SLOT; 1 << 16]; // by packet identifier
        let mut held = None;
        loop {
            let happening = event_loop
                .next()
                .await
                .map_err(|error| network(format!("connection {index} was lost: {error}")))?;
            let oldest = || {
                handed_over
                    .borrow_mut()
                    .pop_front()
                    .ok_or_else(|| library("rumqttc sent a message that nobody handed over"))
            };
            match happening {
                Happening::Arrived(payload) => {
                    self.arrivals.borrow_mut().received(&payload, None, index);
                }
                Happening::Acknowledged(id) => {
                    self.complete(&mut slots[id as usize], None);
                    self.pump()?;
                }
                Happening::Refused(id) => {
                    self.complete(&mut slots[id as usize], Some(Status::Network));
                    self.pump()?;
                }
                Happening::Sent(0) => {
                    self.completions.done(oldest()?);
                    self.pump()?;
                }
                Happening::Sent(id) => {
                    slots[id as usize] = match held.take_if(|(held_id, _)| *held_id == id) {
                        Some((_, slot)) => slot,
                        None => oldest()?,
                    }
                }
                Happening::Held(id) => held = Some((id, oldest()?)),
                _ => {}
            }
        }
    }

    fn complete(&self, slot: &mut u16, failed: Option<Status>) {
        match (std::mem::replace(slot, NO_SLOT), failed) {
            (NO_SLOT, _) => {}
            (slot, None) => self.completions.done(slot),
            (slot, Some(status)) => self.completions.failed(slot, status),
        }
    }
}

impl Driver for Rumqttc {
    const CLAIMS: Claims = Claims {
        shape: Shape::NoWait,
        protocols: V311 | V5,
        publish_qos: QOS0 | QOS1 | QOS2,
        subscribe_qos: QOS0 | QOS1 | QOS2,
        features: FEATURE_TLS
            | FEATURE_PUBLISH_PROPERTIES
            | FEATURE_TOPIC_ALIAS
            | FEATURE_RECEIVE_MAXIMUM
            | FEATURE_MANY_CONNECTIONS,
        max_window: 65533,
        qos0_completion: Some(Qos0Completion::Written),
        ..Claims::new(c"rumqttc", c"rumqttc")
    };

    fn create(host: Host) -> Result<Self, Failure> {
        host.note("library.version", env!("RUMQTTC_VERSION"));
        host.note("tls.library", "rustls with ring");
        // An error says that another provider is installed already: a second create().
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(library)?;
        Ok(Rumqttc {
            host,
            runtime,
            connections: Vec::new(),
            topics: Vec::new(),
            early: 0,
        })
    }

    fn connect(&mut self, run: Run) -> Result<(), Failure> {
        run.refuse_options()?;
        self.early = 0;
        self.topics = run.topics().into_iter().map(str::to_owned).collect();
        self.connections.clear();
        let tls_version = Arc::new(TlsVersion::default());
        for index in 0..run.connection_count() {
            let (client, event_loop) = connection::make(&run, index, &tls_version)?;
            self.connections.push(Connection {
                client,
                event_loop,
                handed_over: RefCell::new(VecDeque::with_capacity(run.window() as usize)),
            });
        }
        for connection in &mut self.connections {
            let patience = Duration::from_secs(CONNECT_SECONDS);
            self.early += self
                .runtime
                .block_on(async { timeout(patience, connection.open(&run)).await })
                .map_err(|_| {
                    network(format!("no CONNACK and SUBACK within {CONNECT_SECONDS} s"))
                })??;
        }
        if let Some(name) = tls_version.name() {
            self.host.note("tls.version", name);
            self.host.note(
                "tls.cipher",
                "not known: rumqttc keeps its TLS stream to itself",
            );
        }
        Ok(())
    }

    fn drive(&mut self, source: Source, sink: Sink) -> Result<(), Failure> {
        let (completions, arrivals) = sink.split();
        let mut loops = Vec::new();
        let mut clients = Vec::new();
        for Connection {
            client,
            event_loop,
            handed_over,
        } in &mut self.connections
        {
            clients.push((&*client, &*handed_over));
            loops.push((event_loop, &*handed_over));
        }
        let topics = &self.topics;
        self.runtime.block_on(async {
            let began = (Instant::now(), monotonic_ns());
            let driving = Driving {
                source: RefCell::new(source),
                completions,
                arrivals: RefCell::new(arrivals),
                clients,
                topics,
                timer: RefCell::new(Box::pin(sleep_until(began.0))),
                began,
                is_over: Cell::new(false),
            };
            let mut serving: FuturesUnordered<_> = loops
                .into_iter()
                .enumerate()
                .map(|(index, (event_loop, handed_over))| {
                    driving.serve(index, event_loop, handed_over)
                })
                .collect();
            let mut keeping_time = std::pin::pin!(driving.keep_time());
            poll_fn(|context| {
                if let Poll::Ready(end) = keeping_time.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                match serving.poll_next_unpin(context) {
                    Poll::Ready(Some(lost)) => Poll::Ready(lost),
                    _ => Poll::Pending,
                }
            })
            .await
        })
    }

    fn disconnect(&mut self) -> Result<(), Failure> {
        for connection in &mut self.connections {
            let patience = Duration::from_secs(DISCONNECT_SECONDS);
            // A message before it that is stuck keeps DISCONNECT back; the connection closes all the same.
            let _ = self
                .runtime
                .block_on(async { timeout(patience, connection.close()).await });
        }
        self.connections.clear();
        if self.early > 0 {
            let text = format!(
                "{} messages arrived before drive() and were not reported",
                self.early
            );
            self.host.log(Level::Warning, &text);
        }
        Ok(())
    }
}

export!(Rumqttc);
