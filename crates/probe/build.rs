//! Compiles the eBPF programs into a skeleton, for the binary only.

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    #[cfg(feature = "ebpf")]
    skeleton();
}

#[cfg(feature = "ebpf")]
fn skeleton() {
    use std::env;
    use std::path::PathBuf;

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("probe.skel.rs");
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    // Debian and its kin keep <asm/types.h> in a folder of the architecture, which clang leaves out when it compiles for
    // BPF. Elsewhere the folder is absent and clang ignores it.
    let headers = format!("-I/usr/include/{architecture}-linux-gnu");
    libbpf_cargo::SkeletonBuilder::new()
        .source("src/bpf/probe.bpf.c")
        .clang_args([headers.as_str(), "-Wall", "-Wextra", "-Werror"])
        .build_and_generate(&out)
        .unwrap_or_else(|error| panic!("the eBPF programs need clang, libelf and zlib to build: {error:#}"));
}
