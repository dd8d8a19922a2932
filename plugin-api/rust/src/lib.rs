//! Drivers for mqcore in Rust. A driver adapts one MQTT client library, see driver.h, which is the
//! contract: life, threads, what each call means. Here it becomes one trait and one macro, in a crate
//! of type `cdylib`:
//!
//! ```ignore
//! struct MyDriver { /* ... */ }
//!
//! impl mqcore_driver::Driver for MyDriver {
//!     const CLAIMS: Claims = Claims { shape: Shape::Sync, ..Claims::new(c"my-driver", c"My Library") };
//!     fn create(host: Host) -> Result<Self, Failure> { /* import the library, no network */ }
//!     fn connect(&mut self, run: Run) -> Result<(), Failure> { /* until the broker has confirmed */ }
//!     fn drive(&mut self, source: Source, sink: Sink) -> Result<(), Failure> { /* the loop */ }
//!     fn disconnect(&mut self) -> Result<(), Failure> { /* no callback after it */ }
//! }
//! mqcore_driver::export!(MyDriver);
//! ```
//!
//! `Drop` is destroy(). A panic ends at the boundary and becomes `Status::Library` with its text.
//! On the measured path these are the calls of driver.h and nothing else.

#[allow(non_camel_case_types)]
pub mod abi;

use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why a call failed, or what became of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The library cannot do what was asked; never approximate.
    Unsupported = 1,
    /// The request or an option makes no sense.
    Config = 2,
    /// Refused, dropped, timed out.
    Network = 3,
    /// The client library failed or broke its own contract.
    Library = 4,
}

/// What a call returns that cannot do what it was asked.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub text: String,
}

impl Failure {
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        Failure {
            status,
            text: text.into(),
        }
    }
}

/// How the library is driven fastest.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Shape {
    Sync = 1,
    NoWait = 2,
    Awaited = 3,
}

/// What completing a QoS 0 message stands for.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Qos0Completion {
    HandedOver = 1,
    Written = 2,
    Drained = 3,
}

pub const V311: u32 = 1 << 0;
pub const V5: u32 = 1 << 1;

pub const QOS0: u32 = 1 << 0;
pub const QOS1: u32 = 1 << 1;
pub const QOS2: u32 = 1 << 2;

pub const FEATURE_TLS: u32 = 1 << 0;
pub const FEATURE_FILTER_CALLBACKS: u32 = 1 << 1;
pub const FEATURE_PUBLISH_PROPERTIES: u32 = 1 << 2;
pub const FEATURE_TOPIC_ALIAS: u32 = 1 << 3;
pub const FEATURE_RECEIVE_MAXIMUM: u32 = 1 << 4;
pub const FEATURE_MANY_CONNECTIONS: u32 = 1 << 5;

/// What a driver claims, the same as its driver.toml.
pub struct Claims {
    pub id: &'static CStr,
    pub library: &'static CStr,
    pub shape: Shape,
    pub protocols: u32,
    pub publish_qos: u32,
    pub subscribe_qos: u32,
    pub features: u32,
    /// Most messages in flight, 0: no limit of the library.
    pub max_window: u32,
    /// `None` only when publish_qos lacks QoS 0.
    pub qos0_completion: Option<Qos0Completion>,
}

impl Claims {
    /// Claims nothing yet: to be completed with `..Claims::new(id, library)`.
    pub const fn new(id: &'static CStr, library: &'static CStr) -> Self {
        Claims {
            id,
            library,
            shape: Shape::Sync,
            protocols: 0,
            publish_qos: 0,
            subscribe_qos: 0,
            features: 0,
            max_window: 0,
            qos0_completion: None,
        }
    }
}

/// An MQTT client library, adapted.
pub trait Driver: Sized {
    const CLAIMS: Claims;

    fn create(host: Host) -> Result<Self, Failure>;
    /// Connects and subscribes as the run asks; returns when the broker has confirmed.
    fn connect(&mut self, run: Run) -> Result<(), Failure>;
    /// The loop. Returns `Ok` only after `Next::Stop`.
    fn drive(&mut self, source: Source, sink: Sink) -> Result<(), Failure>;
    /// Leaves the broker; `Completions` and `Arrivals` are not used any more once it has returned.
    fn disconnect(&mut self) -> Result<(), Failure>;
}

/// Text without its NULs, if it has any.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// What the core offers besides source and sink. From any thread, until the driver is dropped.
#[derive(Clone, Copy)]
pub struct Host(*const abi::mqcore_host);

// SAFETY: driver.h allows its functions from any thread.
unsafe impl Send for Host {}
unsafe impl Sync for Host {}

#[derive(Clone, Copy)]
#[repr(i32)]
pub enum Level {
    Debug = 0,
    Info = 1,
    Warning = 2,
    Error = 3,
}

impl Host {
    /// A line for the run's log. Not from the measured path.
    pub fn log(&self, level: Level, text: &str) {
        // SAFETY: valid from create() to destroy(); the text is copied.
        unsafe { ((*self.0).log)(self.0, level as i32, c_text(text).as_ptr()) }
    }
    /// For a connection that is lost outside a call; inside one return the failure.
    pub fn fail(&self, failure: &Failure) {
        // SAFETY: as above.
        unsafe {
            ((*self.0).fail)(
                self.0,
                failure.status as i32,
                c_text(&failure.text).as_ptr(),
            )
        }
    }
    /// Provenance for the result file: "library.version", ...
    pub fn note(&self, key: &str, value: &str) {
        // SAFETY: as above.
        unsafe { ((*self.0).note)(self.0, c_text(key).as_ptr(), c_text(value).as_ptr()) }
    }
}

/// What one run asks for. Convert what is needed later.
#[derive(Clone, Copy)]
pub struct Run<'a>(&'a abi::mqcore_run);

/// SAFETY: `text` is UTF-8, ends in NUL and lives as long as 'a, or is null.
unsafe fn text<'a>(text: *const std::ffi::c_char) -> Option<&'a str> {
    (!text.is_null()).then(|| CStr::from_ptr(text).to_str().unwrap_or(""))
}

/// SAFETY: `first` points at `count` items that live as long as 'a; it may be null when count is 0.
unsafe fn view<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(first, count as usize)
}

impl<'a> Run<'a> {
    pub fn is_v5(&self) -> bool {
        self.0.protocol == V5
    }
    pub fn host(&self) -> &'a str {
        // SAFETY: this and the following, as driver.h says of mqcore_run.
        unsafe { text(self.0.host) }.unwrap_or("")
    }
    pub fn port(&self) -> u16 {
        self.0.port as u16
    }
    /// Of connection n: CLIENT_ID, CLIENT_ID-1, CLIENT_ID-2, ...
    pub fn client_id(&self, connection: u32) -> String {
        let id = unsafe { text(self.0.client_id) }.unwrap_or("");
        if connection == 0 {
            id.to_owned()
        } else {
            format!("{id}-{connection}")
        }
    }
    /// PEM; `None`: plain TCP. TLS is verified or the connect fails.
    pub fn ca_file(&self) -> Option<&'a str> {
        unsafe { text(self.0.ca_file) }
    }
    /// `Message::topic()` indexes it.
    pub fn topics(&self) -> Vec<&'a str> {
        unsafe { view(self.0.topics, self.0.topic_count) }
            .iter()
            .map(|it| unsafe { text(*it) }.unwrap_or(""))
            .collect()
    }
    pub fn filters(&self) -> Vec<&'a str> {
        unsafe { view(self.0.filters, self.0.filter_count) }
            .iter()
            .map(|it| unsafe { text(*it) }.unwrap_or(""))
            .collect()
    }
    /// A lower granted QoS is `Status::Unsupported`.
    pub fn filter_qos(&self) -> u8 {
        self.0.filter_qos as u8
    }
    /// Key and value. An unknown key is `Status::Config`.
    pub fn options(&self) -> Vec<(&'a str, &'a str)> {
        unsafe { view(self.0.options, self.0.option_count) }
            .iter()
            .map(|it| unsafe { (text(it.key).unwrap_or(""), text(it.value).unwrap_or("")) })
            .collect()
    }
    /// For a driver without options.
    pub fn refuse_options(&self) -> Result<(), Failure> {
        match self.options().first() {
            None => Ok(()),
            Some((key, _)) => Err(Failure::new(
                Status::Config,
                format!("unknown option '{key}': this driver has no options"),
            )),
        }
    }
    pub fn keepalive_s(&self) -> u16 {
        self.0.keepalive_s as u16
    }
    pub fn window(&self) -> u32 {
        self.0.window
    }
    pub fn payload_bytes_max(&self) -> u32 {
        self.0.payload_bytes_max
    }
    pub fn connection_count(&self) -> u32 {
        self.0.connection_count
    }
    /// 0: do not send the property.
    pub fn receive_maximum(&self) -> u16 {
        self.0.receive_maximum as u16
    }
    /// `Message::properties()` indexes it.
    pub fn properties(&self) -> Vec<Properties<'a>> {
        unsafe { view(self.0.properties, self.0.properties_count) }
            .iter()
            .map(|it| Properties(unsafe { &**it }))
            .collect()
    }
    /// Largest topic alias, 0: none.
    pub fn topic_alias_max(&self) -> u16 {
        self.0.topic_alias_max as u16
    }
}

/// One set of MQTT 5 PUBLISH properties; what is `None` is not sent.
#[derive(Clone, Copy)]
pub struct Properties<'a>(&'a abi::mqcore_properties);

impl<'a> Properties<'a> {
    pub fn content_type(&self) -> Option<&'a str> {
        // SAFETY: this and the following, as driver.h says of mqcore_properties.
        unsafe { text(self.0.content_type) }
    }
    pub fn response_topic(&self) -> Option<&'a str> {
        unsafe { text(self.0.response_topic) }
    }
    pub fn correlation_data(&self) -> Option<&'a [u8]> {
        (!self.0.correlation_data.is_null())
            .then(|| unsafe { view(self.0.correlation_data, self.0.correlation_data_bytes) })
    }
    pub fn user(&self) -> Vec<(&'a str, &'a str)> {
        unsafe { view(self.0.user, self.0.user_count) }
            .iter()
            .map(|it| unsafe { (text(it.name).unwrap_or(""), text(it.value).unwrap_or("")) })
            .collect()
    }
}

/// One message to publish, to be read until the next `Source::next()`.
#[derive(Clone, Copy)]
pub struct Message<'a>(&'a abi::mqcore_message);

impl<'a> Message<'a> {
    pub fn payload(&self) -> &'a [u8] {
        // SAFETY: core memory, put until done() for its slot has been seen by next().
        unsafe { view(self.0.payload, self.0.payload_bytes) }
    }
    pub fn topic(&self) -> usize {
        self.0.topic.into()
    }
    /// Small enough to index an array of the run's window.
    pub fn slot(&self) -> u16 {
        self.0.slot
    }
    pub fn qos(&self) -> u8 {
        self.0.qos
    }
    pub fn retain(&self) -> bool {
        self.0.retain != 0
    }
    /// Index into `Run::properties()`.
    pub fn properties(&self) -> Option<usize> {
        (u32::from(self.0.properties) != abi::NONE).then_some(self.0.properties.into())
    }
    pub fn connection(&self) -> usize {
        self.0.connection as usize
    }
    /// 0: none. The topic is empty once the alias is known to the server.
    pub fn topic_alias(&self) -> u16 {
        self.0.topic_alias as u16
    }
}

/// The answers of `Source::next()`.
pub enum Next<'a> {
    /// Publish it now, then complete its slot once.
    Send(Message<'a>),
    /// Ask again at `wake_ns()` or after a completion.
    Wait,
    /// The sending phase is over: serve the network, ask again at `wake_ns()`.
    Drain,
    /// Return from drive().
    Stop,
}

/// Where messages come from: on the thread of drive() only.
pub struct Source<'a>(&'a mut abi::mqcore_source, PhantomData<*mut ()>);

impl Source<'_> {
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Next<'_> {
        let mut message = std::ptr::null();
        // SAFETY: we are on the thread of drive(): Source is neither Send nor Sync.
        match unsafe { (self.0.next)(self.0, &mut message) } {
            abi::SEND => Next::Send(Message(unsafe { &*message })),
            abi::WAIT => Next::Wait,
            abi::DRAIN => Next::Drain,
            _ => Next::Stop,
        }
    }
    /// CLOCK_MONOTONIC, of the last `Wait` or `Drain`.
    pub fn wake_ns(&self) -> u64 {
        self.0.wake_ns
    }
    /// Blocks until `wake_ns()` or a completion that ends a full window.
    pub fn wait(&mut self) {
        // SAFETY: as in next().
        unsafe { (self.0.wait)(self.0) }
    }
}

/// CLOCK_MONOTONIC now, the clock of `Source::wake_ns()`; Rust's own `Instant` does not show it.
pub fn monotonic_ns() -> u64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_MONOTONIC: i32 = 1;
    let mut now = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the C library's function, on 64-bit Linux.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) };
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}

/// Where completions and arrivals go.
pub struct Sink(*mut abi::mqcore_sink);

impl Sink {
    pub fn split(self) -> (Completions, Arrivals) {
        (Completions(self.0), Arrivals(self.0))
    }
}

/// Completes messages, from any thread, until disconnect() returns.
#[derive(Clone, Copy)]
pub struct Completions(*mut abi::mqcore_sink);

// SAFETY: driver.h allows done() from any thread.
unsafe impl Send for Completions {}
unsafe impl Sync for Completions {}

impl Completions {
    pub fn done(&self, slot: u16) {
        // SAFETY: the core keeps the sink until the process ends.
        unsafe { ((*self.0).done)(self.0, slot.into(), 0) }
    }
    pub fn failed(&self, slot: u16, status: Status) {
        // SAFETY: as above.
        unsafe { ((*self.0).done)(self.0, slot.into(), status as i32) }
    }
}

/// Reports arrivals, from any thread, one call at a time, until disconnect() returns.
pub struct Arrivals(*mut abi::mqcore_sink);

// SAFETY: driver.h allows received() from any thread; one at a time is what &mut says.
unsafe impl Send for Arrivals {}

impl Arrivals {
    /// `filter`: index of the filter when the library dispatched by filter.
    pub fn received(&mut self, payload: &[u8], filter: Option<usize>, connection: usize) {
        let filter = filter.map_or(abi::NONE, |index| index as u32);
        let bytes = payload.len() as u32;
        // SAFETY: the payload is read before the call returns.
        unsafe {
            ((*self.0).received)(
                self.0,
                payload.as_ptr().cast(),
                bytes,
                filter,
                connection as u32,
            )
        }
    }
}

/// What `export!` needs. Not for drivers.
#[doc(hidden)]
pub mod export {
    use super::*;

    #[repr(transparent)]
    pub struct Constant<T>(pub T);
    // SAFETY: constant data; the pointers in it point at constant data.
    unsafe impl<T> Sync for Constant<T> {}

    struct Instance<D> {
        host: Host,
        driver: D,
    }

    pub const fn info(claims: Claims) -> abi::mqcore_info {
        abi::mqcore_info {
            size: size_of::<abi::mqcore_info>() as u32,
            shape: claims.shape as u32,
            id: claims.id.as_ptr(),
            library: claims.library.as_ptr(),
            protocols: claims.protocols,
            publish_qos: claims.publish_qos,
            subscribe_qos: claims.subscribe_qos,
            features: claims.features,
            max_window: claims.max_window,
            qos0_completion: match claims.qos0_completion {
                Some(completion) => completion as u32,
                None => 0,
            },
        }
    }

    pub const fn table<D: Driver>(info: &'static Constant<abi::mqcore_info>) -> abi::mqcore_driver {
        abi::mqcore_driver {
            magic: abi::MAGIC,
            size: size_of::<abi::mqcore_driver>() as u32,
            abi_major: abi::ABI_MAJOR,
            abi_minor: abi::ABI_MINOR,
            needs_host_minor: 0,
            reserved: 0,
            info: &info.0,
            create: create::<D>,
            connect: connect::<D>,
            drive: drive::<D>,
            disconnect: disconnect::<D>,
            destroy: destroy::<D>,
            extension: None,
        }
    }

    /// The panic barrier: nothing unwinds into the core.
    fn guarded(host: Host, call: impl FnOnce() -> Result<(), Failure>) -> i32 {
        let failure = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => return 0,
            Ok(Err(failure)) => failure,
            Err(panic) => {
                let text = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "of unknown type".to_owned());
                Failure::new(Status::Library, format!("panic: {text}"))
            }
        };
        host.fail(&failure);
        failure.status as i32
    }

    // SAFETY of the five: called as driver.h says, with the pointers that it says; self is what
    // create() made.
    unsafe extern "C" fn create<D: Driver>(
        host: *const abi::mqcore_host,
        out: *mut *mut c_void,
    ) -> i32 {
        *out = std::ptr::null_mut();
        let host = Host(host);
        guarded(host, || {
            let driver = D::create(host)?;
            *out = Box::into_raw(Box::new(Instance { host, driver })).cast();
            Ok(())
        })
    }

    unsafe extern "C" fn connect<D: Driver>(it: *mut c_void, run: *const abi::mqcore_run) -> i32 {
        let it = &mut *it.cast::<Instance<D>>();
        guarded(it.host, || it.driver.connect(Run(&*run)))
    }

    unsafe extern "C" fn drive<D: Driver>(
        it: *mut c_void,
        source: *mut abi::mqcore_source,
        sink: *mut abi::mqcore_sink,
    ) -> i32 {
        let it = &mut *it.cast::<Instance<D>>();
        guarded(it.host, || {
            it.driver
                .drive(Source(&mut *source, PhantomData), Sink(sink))
        })
    }

    unsafe extern "C" fn disconnect<D: Driver>(it: *mut c_void) -> i32 {
        let it = &mut *it.cast::<Instance<D>>();
        guarded(it.host, || it.driver.disconnect())
    }

    unsafe extern "C" fn destroy<D: Driver>(it: *mut c_void) {
        let it = Box::from_raw(it.cast::<Instance<D>>());
        let host = it.host;
        guarded(host, move || {
            drop(it);
            Ok(())
        });
    }
}

/// Exports the entry of the driver, once in a crate of type `cdylib`.
#[macro_export]
macro_rules! export {
    ($driver:ty) => {
        #[no_mangle]
        pub extern "C" fn mqcore_driver_entry(
            _driver_folder: *const ::std::ffi::c_char,
        ) -> *const $crate::abi::mqcore_driver {
            use $crate::export::{info, table, Constant};
            static INFO: Constant<$crate::abi::mqcore_info> =
                Constant(info(<$driver as $crate::Driver>::CLAIMS));
            static TABLE: Constant<$crate::abi::mqcore_driver> = Constant(table::<$driver>(&INFO));
            &TABLE.0
        }
    };
}
