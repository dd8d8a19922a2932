//! A tiny MQTT 3.1.1 client: one connection over a plain socket, QoS 0 and 1, and a reader for a thread of
//! its own. It stands where YOUR LIBRARY will be, and goes when that is there; driver.rs shows what has to change.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

const CONNECT: u8 = 1;
const CONNACK: u8 = 2;
const PUBLISH: u8 = 3;
const PUBACK: u8 = 4;
const SUBSCRIBE: u8 = 8;
const SUBACK: u8 = 9;
const PINGREQ: u8 = 12;
const DISCONNECT: u8 = 14;

/// What `Reader::run` reports.
pub enum Event<'a> {
    /// PUBACK of the message with that packet identifier.
    Acknowledged(u16),
    /// The payload of an arrival.
    Message(&'a [u8]),
}

fn malformed(what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidData,
        format!("the server sent a malformed {what}"),
    )
}

/// Publishes and subscribes; the thread of `Reader` writes acknowledgements on the same socket.
pub struct Client {
    writer: Arc<Mutex<Writer>>,
}

struct Writer {
    socket: TcpStream,
    packet: Vec<u8>,
    is_left: bool, // by disconnect()
}

/// Reads what arrives.
pub struct Reader {
    socket: TcpStream,
    writer: Arc<Mutex<Writer>>,
    ping_every: Option<Duration>,
    buffer: Vec<u8>,
    filled: usize,
}

/// A thread that panics with the lock has written no part of a packet.
fn locked(writer: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    /// The packet's body is put together by `fill`.
    fn send(
        &mut self,
        kind: u8,
        flags: u8,
        bytes: usize,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        self.packet.clear();
        self.packet.push(kind << 4 | flags);
        let mut left = bytes;
        while left > 127 {
            self.packet.push((left % 128) as u8 | 0x80);
            left /= 128;
        }
        self.packet.push(left as u8);
        fill(&mut self.packet);
        self.socket.write_all(&self.packet)
    }
}

fn put_text(packet: &mut Vec<u8>, text: &str) {
    packet.extend((text.len() as u16).to_be_bytes());
    packet.extend(text.as_bytes());
}

/// Until CONNACK.
pub fn connect(
    host: &str,
    port: u16,
    client_id: &str,
    keepalive_s: u16,
) -> Result<(Client, Reader)> {
    let address = (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{host} has no address")))?;
    let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let writer = Arc::new(Mutex::new(Writer {
        socket: socket.try_clone()?,
        packet: Vec::new(),
        is_left: false,
    }));
    let mut reader = Reader {
        socket,
        writer: writer.clone(),
        ping_every: (keepalive_s > 0).then(|| Duration::from_secs(keepalive_s.into()) / 2),
        buffer: Vec::new(),
        filled: 0,
    };
    locked(&writer).send(CONNECT, 0, 12 + client_id.len(), |packet| {
        put_text(packet, "MQTT");
        packet.extend([4, 2]); // 3.1.1, clean session
        packet.extend(keepalive_s.to_be_bytes());
        put_text(packet, client_id);
    })?;
    match reader.answer(CONNACK)? {
        0 => Ok((Client { writer }, reader)),
        code => Err(Error::new(
            ErrorKind::ConnectionRefused,
            format!("the server refused the connection (code {code})"),
        )),
    }
}

impl Client {
    /// Until SUBACK, before the reader runs. The granted QoS, or 0x80: refused.
    pub fn subscribe(&self, reader: &mut Reader, filter: &str, qos: u8) -> Result<u8> {
        locked(&self.writer).send(SUBSCRIBE, 2, 5 + filter.len(), |packet| {
            packet.extend([0, 1]);
            put_text(packet, filter);
            packet.push(qos);
        })?;
        reader.answer(SUBACK)
    }

    /// Until the kernel has taken it. `id`: 1 to 65535, not in use, for QoS 1.
    pub fn publish(
        &self,
        topic: &str,
        payload: &[u8],
        qos: u8,
        retain: bool,
        id: u16,
    ) -> Result<()> {
        let bytes = 2 + topic.len() + if qos > 0 { 2 } else { 0 } + payload.len();
        locked(&self.writer).send(PUBLISH, qos << 1 | u8::from(retain), bytes, |packet| {
            put_text(packet, topic);
            if qos > 0 {
                packet.extend(id.to_be_bytes());
            }
            packet.extend(payload);
        })
    }

    /// Ends the reader as well.
    pub fn disconnect(&self) {
        let mut writer = locked(&self.writer);
        writer.is_left = true;
        // A connection that is lost already is left as well.
        let _ = writer.send(DISCONNECT, 0, 0, |_| {});
        let _ = writer.socket.shutdown(Shutdown::Both);
    }
}

impl Reader {
    /// Until the connection is left, or an error when it is lost.
    pub fn run(mut self, mut on: impl FnMut(Event)) -> Result<()> {
        match self.read_on(&mut on) {
            Err(_) if locked(&self.writer).is_left => Ok(()),
            end => end,
        }
    }

    fn read_on(&mut self, on: &mut impl FnMut(Event)) -> Result<()> {
        self.socket.set_read_timeout(self.ping_every)?;
        let mut last_ping = Instant::now();
        loop {
            if self
                .ping_every
                .is_some_and(|every| last_ping.elapsed() >= every)
            {
                locked(&self.writer).send(PINGREQ, 0, 0, |_| {})?;
                last_ping = Instant::now();
            }
            match self.read() {
                Ok(()) => self.take_packets(|_, _| false, on)?,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            };
        }
    }

    /// The code in the next packet of that kind.
    fn answer(&mut self, kind: u8) -> Result<u8> {
        let mut code = None;
        self.socket.set_read_timeout(Some(PATIENCE))?;
        while code.is_none() {
            self.read().map_err(|error| match error.kind() {
                ErrorKind::WouldBlock => Error::new(ErrorKind::TimedOut, "no answer within 10 s"),
                _ => error,
            })?;
            self.take_packets(
                |found, body| {
                    if found == kind {
                        code = body.last().copied();
                    }
                    code.is_some()
                },
                &mut |_| {},
            )?;
        }
        code.ok_or_else(|| malformed("answer"))
    }

    /// Some bytes more.
    fn read(&mut self) -> Result<()> {
        if self.buffer.len() - self.filled < 1 << 16 {
            self.buffer.resize(2 * self.buffer.len() + (1 << 16), 0);
        }
        match self.socket.read(&mut self.buffer[self.filled..])? {
            0 => Err(Error::new(
                ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }

    /// Every whole packet in the buffer, until `is_enough` says so.
    fn take_packets(
        &mut self,
        mut is_enough: impl FnMut(u8, &[u8]) -> bool,
        on: &mut impl FnMut(Event),
    ) -> Result<()> {
        let mut at = 0;
        while let Some((head, length)) = whole_packet(&self.buffer[at..self.filled])? {
            let first = self.buffer[at];
            let body = &self.buffer[at + head..at + head + length];
            self.take_packet(first, body, on)?;
            let is_over = is_enough(first >> 4, body);
            at += head + length;
            if is_over {
                break;
            }
        }
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }

    fn take_packet(&self, first: u8, body: &[u8], on: &mut impl FnMut(Event)) -> Result<()> {
        match first >> 4 {
            PUBACK => {
                let id = body.first_chunk().ok_or_else(|| malformed("PUBACK"))?;
                on(Event::Acknowledged(u16::from_be_bytes(*id)));
            }
            PUBLISH => {
                let (topic_bytes, rest) = body
                    .split_first_chunk()
                    .ok_or_else(|| malformed("PUBLISH"))?;
                let rest = rest
                    .get(u16::from_be_bytes(*topic_bytes).into()..)
                    .ok_or_else(|| malformed("PUBLISH"))?;
                if first & 0x06 == 0 {
                    on(Event::Message(rest));
                } else {
                    let (id, payload) = rest
                        .split_first_chunk::<2>()
                        .ok_or_else(|| malformed("PUBLISH"))?;
                    on(Event::Message(payload));
                    locked(&self.writer).send(PUBACK, 0, 2, |packet| packet.extend(id))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The bytes of its head and of its body, once all of them are there.
fn whole_packet(bytes: &[u8]) -> Result<Option<(usize, usize)>> {
    let mut length = 0;
    for (index, byte) in bytes.iter().enumerate().skip(1) {
        if index > 4 {
            return Err(malformed("length"));
        }
        length |= usize::from(byte & 0x7f) << (7 * (index - 1));
        if byte & 0x80 == 0 {
            return Ok((bytes.len() > index + length).then_some((index + 1, length)));
        }
    }
    Ok(None)
}
