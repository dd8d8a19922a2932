//! driver.h in Rust, written by hand; tests/layout.rs compares it with the layout that the C compiler
//! makes. What each field means is written in driver.h.

use std::ffi::{c_char, c_void};

pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 0;
pub const MAGIC: u32 = 0x3142514D;
pub const NONE: u32 = 0xFFFF;

pub const SEND: i32 = 0;
pub const WAIT: i32 = 1;
pub const DRAIN: i32 = 2;

#[repr(C)]
pub struct mqcore_info {
    pub size: u32,
    pub shape: u32,
    pub id: *const c_char,
    pub library: *const c_char,
    pub protocols: u32,
    pub publish_qos: u32,
    pub subscribe_qos: u32,
    pub features: u32,
    pub max_window: u32,
    pub qos0_completion: u32,
}

#[repr(C)]
pub struct mqcore_option {
    pub key: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
pub struct mqcore_user_property {
    pub name: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
pub struct mqcore_properties {
    pub size: u32,
    pub user_count: u32,
    pub user: *const mqcore_user_property,
    pub content_type: *const c_char,
    pub response_topic: *const c_char,
    pub correlation_data: *const u8,
    pub correlation_data_bytes: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct mqcore_run {
    pub size: u32,
    pub protocol: u32,
    pub host: *const c_char,
    pub client_id: *const c_char,
    pub ca_file: *const c_char,
    pub topics: *const *const c_char,
    pub filters: *const *const c_char,
    pub options: *const mqcore_option,
    pub topic_count: u32,
    pub filter_count: u32,
    pub option_count: u32,
    pub filter_qos: u32,
    pub port: u32,
    pub keepalive_s: u32,
    pub window: u32,
    pub payload_bytes_max: u32,
    pub connection_count: u32,
    pub receive_maximum: u32,
    pub properties: *const *const mqcore_properties,
    pub properties_count: u32,
    pub topic_alias_max: u32,
}

#[repr(C)]
pub struct mqcore_message {
    pub payload: *const u8,
    pub payload_bytes: u32,
    pub topic: u16,
    pub slot: u16,
    pub qos: u8,
    pub retain: u8,
    pub properties: u16,
    pub connection: u32,
    pub topic_alias: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct mqcore_source {
    pub size: u32,
    pub reserved: u32,
    pub wake_ns: u64,
    pub next: unsafe extern "C" fn(*mut mqcore_source, *mut *const mqcore_message) -> i32,
    pub wait: unsafe extern "C" fn(*mut mqcore_source),
}

#[repr(C)]
pub struct mqcore_sink {
    pub size: u32,
    pub reserved: u32,
    pub done: unsafe extern "C" fn(*mut mqcore_sink, u32, i32),
    pub received: unsafe extern "C" fn(*mut mqcore_sink, *const c_void, u32, u32, u32),
}

#[repr(C)]
pub struct mqcore_host {
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub version: *const c_char,
    pub environment: *const c_char,
    pub extension: unsafe extern "C" fn(*const mqcore_host, *const c_char) -> *const c_void,
    pub log: unsafe extern "C" fn(*const mqcore_host, i32, *const c_char),
    pub fail: unsafe extern "C" fn(*const mqcore_host, i32, *const c_char),
    pub note: unsafe extern "C" fn(*const mqcore_host, *const c_char, *const c_char),
}

#[repr(C)]
pub struct mqcore_driver {
    pub magic: u32,
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub needs_host_minor: u16,
    pub reserved: u16,
    pub info: *const mqcore_info,
    pub create: unsafe extern "C" fn(*const mqcore_host, *mut *mut c_void) -> i32,
    pub connect: unsafe extern "C" fn(*mut c_void, *const mqcore_run) -> i32,
    pub drive: unsafe extern "C" fn(*mut c_void, *mut mqcore_source, *mut mqcore_sink) -> i32,
    pub disconnect: unsafe extern "C" fn(*mut c_void) -> i32,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}
