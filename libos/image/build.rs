//! Links an image by a script of its own, without an operating system's start files and libraries.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../image/link.ld");
    println!("cargo:rerun-if-changed={script}");
    for argument in
        ["-nostdlib", "-nostartfiles", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,max-page-size=4096"]
    {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!("cargo:rustc-link-arg-bins=-Wl,-T,{script}");
}
