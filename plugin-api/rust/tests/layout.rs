//! The structs of abi.rs against the layout that the C compiler makes of driver.h.

use ::mqcore_driver::abi::*;
use std::fmt::Write;
use std::mem::{offset_of, size_of};

fn size_of_field<S, F>(_: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! layout {
    ($out:ident, $($name:ident { $($field:ident)* })*) => {$(
        writeln!($out, "{} {}", stringify!($name), size_of::<$name>()).unwrap();
        $(writeln!($out, "{:7} {:2} {}", offset_of!($name, $field),
                   size_of_field(|it: &$name| &it.$field), stringify!($field)).unwrap();)*
    )*};
}

#[test]
fn structs_lie_as_in_c() {
    let mut ours = String::new();
    layout! { ours,
        mqcore_info { size shape id library protocols publish_qos subscribe_qos features max_window
                      qos0_completion }
        mqcore_option { key value }
        mqcore_user_property { name value }
        mqcore_properties { size user_count user content_type response_topic correlation_data
                            correlation_data_bytes reserved }
        mqcore_run { size protocol host client_id ca_file topics filters options topic_count filter_count
                     option_count filter_qos port keepalive_s window payload_bytes_max
                     connection_count receive_maximum properties properties_count topic_alias_max }
        mqcore_message { payload payload_bytes topic slot qos retain properties connection topic_alias
                         reserved }
        mqcore_source { size reserved wake_ns next wait }
        mqcore_sink { size reserved done received }
        mqcore_host { size abi_major abi_minor version environment extension log fail note }
        mqcore_driver { magic size abi_major abi_minor needs_host_minor reserved info create connect
                        drive disconnect destroy extension }
    }
    let theirs = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/abi/layout.txt"
    ))
    .unwrap();
    assert_eq!(ours.trim_end(), theirs.trim_end());
}
