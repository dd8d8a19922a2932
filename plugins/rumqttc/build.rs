//! The version of rumqttc, for the result files: cargo tells it to nobody else.

fn main() {
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock is committed");
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("name = \"rumqttc\""))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .expect("rumqttc is in Cargo.lock");
    println!("cargo:rustc-env=RUMQTTC_VERSION={version}");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
