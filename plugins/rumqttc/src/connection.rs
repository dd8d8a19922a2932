//! One MQTT connection: rumqttc has a client and an event loop of its own for each protocol. What they
//! report becomes one enumeration here.

use bytes::Bytes;
use mqcore_driver::{Failure, Message, Properties, Run, Status};
use rumqttc::{v5, NetworkOptions, Transport};
use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_rustls::rustls::pki_types::{pem::PemObject, CertificateDer};
use tokio_rustls::rustls::{ClientConfig, KeyLog, RootCertStore};

pub const CONNECT_SECONDS: u64 = 10;

/// Room in a packet besides its payload: topic, properties, header.
const PACKET_BYTES_BESIDES: u32 = 256 * 1024;

/// What an event loop reports.
pub enum Happening {
    Connected,
    /// The granted QoS of each filter, `None`: refused.
    Subscribed(Vec<Option<u8>>),
    /// The oldest message that was handed over is written; 0: it has no acknowledgement.
    Sent(u16),
    /// The oldest message that was handed over waits until its packet identifier is free: then it is
    /// `Sent`.
    Held(u16),
    Acknowledged(u16),
    Refused(u16),
    Arrived(Bytes),
    /// DISCONNECT is written.
    Left,
    Other,
}

enum Protocol {
    V311(rumqttc::AsyncClient),
    V5(v5::AsyncClient),
}

#[allow(clippy::large_enum_variant)] // one for each connection
enum EventLoop {
    V311(rumqttc::EventLoop),
    V5(v5::EventLoop),
}

/// Hands messages over to an event loop.
pub struct Client {
    protocol: Protocol,
    /// By `Message::properties()`.
    properties: Vec<v5::mqttbytes::v5::PublishProperties>,
}

/// Serves the network.
pub struct Loop(EventLoop);

fn text(error: impl Display) -> String {
    error.to_string()
}

/// The library panics on these.
fn check_keepalive(run: &Run) -> Result<(), Failure> {
    if run.is_v5() && run.keepalive_s() < 5 {
        return Err(Failure::new(
            Status::Unsupported,
            format!(
                "a keep alive of {} s over MQTT 5: rumqttc takes 5 s and more",
                run.keepalive_s()
            ),
        ));
    }
    Ok(())
}

/// The version of TLS that the handshakes agreed on. rumqttc keeps its TLS stream to itself; which secrets
/// rustls has to log tells the version, and nothing tells the cipher.
#[derive(Debug, Default)]
pub struct TlsVersion(OnceLock<&'static str>);

impl TlsVersion {
    pub fn name(&self) -> Option<&'static str> {
        self.0.get().copied()
    }
}

impl KeyLog for TlsVersion {
    fn log(&self, label: &str, _: &[u8], _: &[u8]) {
        // CLIENT_RANDOM is the one label of TLS 1.2.
        let name = if label == "CLIENT_RANDOM" {
            "TLSv1.2"
        } else {
            "TLSv1.3"
        };
        self.0.get_or_init(|| name);
    }
}

/// The same as rumqttc's own `Transport::tls`, with an ear for the version.
fn transport(run: &Run, version: &Arc<TlsVersion>) -> Result<Transport, Failure> {
    let Some(file) = run.ca_file() else {
        return Ok(Transport::tcp());
    };
    let failed = |error: String| Failure::new(Status::Config, format!("'{file}': {error}"));
    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|it| failed(it.to_string()))? {
        let certificate = certificate.map_err(|it| failed(it.to_string()))?;
        authorities
            .add(certificate)
            .map_err(|it| failed(it.to_string()))?;
    }
    if authorities.is_empty() {
        return Err(failed("no certificate in it".to_owned()));
    }
    let mut config = ClientConfig::builder()
        .with_root_certificates(authorities)
        .with_no_client_auth();
    config.key_log = version.clone();
    Ok(Transport::tls_with_config(config.into()))
}

fn publish_properties(set: &Properties) -> v5::mqttbytes::v5::PublishProperties {
    v5::mqttbytes::v5::PublishProperties {
        content_type: set.content_type().map(str::to_owned),
        response_topic: set.response_topic().map(str::to_owned),
        correlation_data: set.correlation_data().map(Bytes::copy_from_slice),
        user_properties: set
            .user()
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Default::default()
    }
}

pub fn make(run: &Run, index: u32, version: &Arc<TlsVersion>) -> Result<(Client, Loop), Failure> {
    check_keepalive(run)?;
    let host = if run.host().contains(':') && run.ca_file().is_none() {
        format!("[{}]", run.host())
    } else {
        run.host().to_owned()
    };
    let keepalive = Duration::from_secs(run.keepalive_s().into());
    let inflight = run.window() as u16 + 1;
    let most_requests = run.window() as usize + 16;
    let most_bytes = run.payload_bytes_max() + PACKET_BYTES_BESIDES;
    let mut network = NetworkOptions::new();
    network.set_tcp_nodelay(true);
    network.set_connection_timeout(CONNECT_SECONDS);
    let properties = run.properties().iter().map(publish_properties).collect();

    if run.is_v5() {
        let mut options = v5::MqttOptions::new(run.client_id(index), host, run.port());
        options
            .set_transport(transport(run, version)?)
            .set_keep_alive(keepalive)
            .set_clean_start(true)
            .set_connection_timeout(CONNECT_SECONDS)
            .set_network_options(network)
            .set_outgoing_inflight_upper_limit(inflight)
            .set_max_packet_size(Some(most_bytes));
        if run.receive_maximum() > 0 {
            options.set_receive_maximum(Some(run.receive_maximum()));
        }
        let (client, event_loop) = v5::AsyncClient::new(options, most_requests);
        return Ok((
            Client {
                protocol: Protocol::V5(client),
                properties,
            },
            Loop(EventLoop::V5(event_loop)),
        ));
    }
    let mut options = rumqttc::MqttOptions::new(run.client_id(index), host, run.port());
    options
        .set_transport(transport(run, version)?)
        .set_keep_alive(keepalive)
        .set_clean_session(true)
        .set_inflight(inflight)
        .set_max_packet_size(most_bytes as usize, most_bytes as usize);
    let (client, mut event_loop) = rumqttc::AsyncClient::new(options, most_requests);
    event_loop.set_network_options(network);
    Ok((
        Client {
            protocol: Protocol::V311(client),
            properties,
        },
        Loop(EventLoop::V311(event_loop)),
    ))
}

impl Client {
    pub fn publish(&self, topic: &str, message: &Message) -> Result<(), String> {
        let (payload, retain) = (message.payload(), message.retain());
        match &self.protocol {
            Protocol::V311(client) => {
                let qos = rumqttc::qos(message.qos()).map_err(text)?;
                client
                    .try_publish(topic, qos, retain, payload)
                    .map_err(text)
            }
            Protocol::V5(client) => {
                let qos = v5::mqttbytes::qos(message.qos()).ok_or("no such QoS")?;
                let payload = Bytes::copy_from_slice(payload);
                let alias = (message.topic_alias() > 0).then_some(message.topic_alias());
                if alias.is_none() && message.properties().is_none() {
                    return client
                        .try_publish(topic, qos, retain, payload)
                        .map_err(text);
                }
                let mut properties = message
                    .properties()
                    .map_or_else(Default::default, |i| self.properties[i].clone());
                properties.topic_alias = alias;
                client
                    .try_publish_with_properties(topic, qos, retain, payload, properties)
                    .map_err(text)
            }
        }
    }

    pub fn subscribe(&self, filters: &[&str], qos: u8) -> Result<(), String> {
        match &self.protocol {
            Protocol::V311(client) => {
                let qos = rumqttc::qos(qos).map_err(text)?;
                client
                    .try_subscribe_many(
                        filters
                            .iter()
                            .map(|it| rumqttc::SubscribeFilter::new((*it).to_owned(), qos)),
                    )
                    .map_err(text)
            }
            Protocol::V5(client) => {
                let qos = v5::mqttbytes::qos(qos).ok_or("no such QoS")?;
                client
                    .try_subscribe_many(
                        filters
                            .iter()
                            .map(|it| v5::mqttbytes::v5::Filter::new((*it).to_owned(), qos)),
                    )
                    .map_err(text)
            }
        }
    }

    pub fn disconnect(&self) -> Result<(), String> {
        match &self.protocol {
            Protocol::V311(client) => client.try_disconnect().map_err(text),
            Protocol::V5(client) => client.try_disconnect().map_err(text),
        }
    }
}

impl Loop {
    pub async fn next(&mut self) -> Result<Happening, String> {
        match &mut self.0 {
            EventLoop::V311(it) => it.poll().await.map(of_v311).map_err(text),
            EventLoop::V5(it) => it.poll().await.map(of_v5).map_err(text),
        }
    }
}

fn of_outgoing(outgoing: rumqttc::Outgoing) -> Happening {
    match outgoing {
        rumqttc::Outgoing::Publish(id) => Happening::Sent(id),
        rumqttc::Outgoing::AwaitAck(id) => Happening::Held(id),
        rumqttc::Outgoing::Disconnect => Happening::Left,
        _ => Happening::Other,
    }
}

fn of_v311(event: rumqttc::Event) -> Happening {
    use rumqttc::{Packet, SubscribeReasonCode};
    match event {
        rumqttc::Event::Outgoing(outgoing) => of_outgoing(outgoing),
        rumqttc::Event::Incoming(packet) => match packet {
            Packet::ConnAck(_) => Happening::Connected,
            Packet::SubAck(ack) => Happening::Subscribed(
                ack.return_codes
                    .iter()
                    .map(|code| match code {
                        SubscribeReasonCode::Success(qos) => Some(*qos as u8),
                        SubscribeReasonCode::Failure => None,
                    })
                    .collect(),
            ),
            Packet::PubAck(ack) => Happening::Acknowledged(ack.pkid),
            Packet::PubComp(ack) => Happening::Acknowledged(ack.pkid),
            Packet::Publish(publish) => Happening::Arrived(publish.payload),
            _ => Happening::Other,
        },
    }
}

fn of_v5(event: v5::Event) -> Happening {
    use v5::mqttbytes::v5::{
        Packet, PubAckReason, PubCompReason, PubRecReason, SubscribeReasonCode,
    };
    let acknowledged = |id, is_success| {
        if is_success {
            Happening::Acknowledged(id)
        } else {
            Happening::Refused(id)
        }
    };
    match event {
        v5::Event::Outgoing(outgoing) => of_outgoing(outgoing),
        v5::Event::Incoming(packet) => match packet {
            Packet::ConnAck(_) => Happening::Connected,
            Packet::SubAck(ack) => Happening::Subscribed(
                ack.return_codes
                    .iter()
                    .map(|code| match code {
                        SubscribeReasonCode::Success(qos) => Some(*qos as u8),
                        _ => None,
                    })
                    .collect(),
            ),
            Packet::PubAck(ack) => acknowledged(
                ack.pkid,
                matches!(
                    ack.reason,
                    PubAckReason::Success | PubAckReason::NoMatchingSubscribers
                ),
            ),
            Packet::PubRec(ack)
                if !matches!(
                    ack.reason,
                    PubRecReason::Success | PubRecReason::NoMatchingSubscribers
                ) =>
            {
                Happening::Refused(ack.pkid)
            }
            Packet::PubComp(ack) => acknowledged(ack.pkid, ack.reason == PubCompReason::Success),
            Packet::Publish(publish) => Happening::Arrived(publish.payload),
            _ => Happening::Other,
        },
    }
}
