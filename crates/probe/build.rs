//! Compiles the eBPF programs into skeletons, for the binaries only.

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    #[cfg(feature = "ebpf")]
    for programs in ["probe", "idle", "count", "balance", "interrupts"] {
        skeleton(programs);
    }
}

#[cfg(feature = "ebpf")]
fn skeleton(programs: &str) {
    use std::env;
    use std::path::PathBuf;

    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    // Debian and its kin keep <asm/types.h> in a folder of the architecture, which clang leaves out when it compiles for
    // BPF. Elsewhere the folder is absent and clang ignores it.
    let headers = format!("-I/usr/include/{architecture}-linux-gnu");
    libbpf_cargo::SkeletonBuilder::new()
        .source(format!("src/bpf/{programs}.bpf.c"))
        .clang_args([headers.as_str(), "-Wall", "-Wextra", "-Werror"])
        .build_and_generate(folder.join(format!("{programs}.skel.rs")))
        .unwrap_or_else(|error| panic!("the eBPF programs need clang, libelf and zlib to build: {error:#}"));
}
