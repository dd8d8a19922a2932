//! Failures and panics of a driver end at the boundary, with their text. Through the exported table, as
//! the core does it.

use mqcore_driver::abi::{mqcore_host, mqcore_info, ABI_MAJOR, MAGIC};
use mqcore_driver::{Claims, Driver, Failure, Host, Run, Sink, Source, Status};
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CStr};
use std::ptr::{null, null_mut};

struct Bad;

impl Driver for Bad {
    const CLAIMS: Claims = Claims {
        protocols: mqcore_driver::V311,
        ..Claims::new(c"bad", c"Bad Library")
    };

    fn create(_: Host) -> Result<Self, Failure> {
        Ok(Bad)
    }
    fn connect(&mut self, _: Run) -> Result<(), Failure> {
        Err(Failure::new(Status::Network, "nobody listens"))
    }
    fn drive(&mut self, _: Source, _: Sink) -> Result<(), Failure> {
        unreachable!("not driven here")
    }
    fn disconnect(&mut self) -> Result<(), Failure> {
        panic!("the library broke: {}", 7)
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("even here")
    }
}

mqcore_driver::export!(Bad);

thread_local! {
    static FAILURES: RefCell<Vec<(i32, String)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn fail(_: *const mqcore_host, status: i32, text: *const c_char) {
    let text = CStr::from_ptr(text).to_str().unwrap().to_owned();
    FAILURES.with_borrow_mut(|all| all.push((status, text)));
}
unsafe extern "C" fn log(_: *const mqcore_host, _: i32, _: *const c_char) {}
unsafe extern "C" fn note(_: *const mqcore_host, _: *const c_char, _: *const c_char) {}
unsafe extern "C" fn extension(_: *const mqcore_host, _: *const c_char) -> *const c_void {
    null()
}

#[test]
fn nothing_unwinds_into_the_core() {
    let host = mqcore_host {
        size: size_of::<mqcore_host>() as u32,
        abi_major: ABI_MAJOR,
        abi_minor: 0,
        version: c"test".as_ptr(),
        environment: null(),
        extension,
        log,
        fail,
        note,
    };
    // SAFETY: the calls of driver.h in their order; connect() is given a run of zeros.
    unsafe {
        let table = &*mqcore_driver_entry(null());
        assert_eq!((table.magic, table.abi_major), (MAGIC, 1));
        let info: &mqcore_info = &*table.info;
        assert_eq!(CStr::from_ptr(info.id), c"bad");

        let mut driver = null_mut();
        assert_eq!((table.create)(&host, &mut driver), 0);
        assert!(!driver.is_null());
        let run = std::mem::MaybeUninit::zeroed();
        assert_eq!(
            (table.connect)(driver, run.as_ptr()),
            Status::Network as i32
        );
        assert_eq!((table.disconnect)(driver), Status::Library as i32);
        (table.destroy)(driver);
    }
    let failures = FAILURES.take();
    let failures: Vec<_> = failures
        .iter()
        .map(|(status, text)| (*status, text.as_str()))
        .collect();
    assert_eq!(
        failures,
        [
            (Status::Network as i32, "nobody listens"),
            (Status::Library as i32, "panic: the library broke: 7"),
            (Status::Library as i32, "panic: even here"),
        ]
    );
}
