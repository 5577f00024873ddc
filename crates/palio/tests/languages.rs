//! Contenders whose language or runtime this machine may lack: without it they say how to get it,
//! and with a stub in its place their manifests build and describe. That proves the manifests, and
//! no race.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Project;

/// A contender of this repository, and the folders beside it that its build names.
fn project(language: &str, id: &str, beside: &[&str]) -> Project {
    let project = Project::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contenders").join(language);
    for folder in beside.iter().chain(&[id]) {
        let there = project.path("contenders").join(language).join(folder);
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        let copied =
            Command::new("cp").arg("-R").arg(here.join(folder)).arg(&there).status().unwrap();
        assert!(copied.success());
    }
    project
}

/// A program that a shell runs, in a folder of its own.
fn stub(project: &Project, path: &str, script: &str) -> PathBuf {
    let path = project.write(path, &format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.parent().unwrap().to_owned()
}

/// `PATH` with a folder before all others.
fn first(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// An SDK of this release, which publishes an empty file and describes itself as the runtime.
fn sdk(project: &Project, release: &str) -> PathBuf {
    let script = r#"case $1 in
--list-sdks) echo "RELEASE [/stub]" ;;
publish)
    while [ "$1" != --output ]; do shift; done
    mkdir -p "$2" && : >"$2/dotnet.dll" ;;
*/dotnet.dll)
    printf 'protocol 2\nid dotnet\nruntime .NET RELEASE\ntoolchain -\nflags allocator=own\n'
    sed -n '/^workloads/,/^]/s/^ *"\(.*\)",/workload \1/p' "$(dirname "$0")/../contenders/csharp/dotnet/contender.toml" ;;
*) exit 1 ;;
esac
"#;
    stub(project, "sdk/dotnet", &script.replace("RELEASE", release))
}

#[test]
fn dotnet_names_the_sdk_that_is_missing() {
    let project = project("csharp", "dotnet", &["harness", "shared"]);
    for release in ["7.0.410", "18", ""] {
        let path = first(&sdk(&project, release));
        let run = project.palio(&["build", "dotnet"]).env("PATH", &path).run().exits(1);
        run.prints(&["not built", ".NET SDK 8 or newer is missing", "dotnet-sdk-8.0"]);
        project.palio(&["build", "--strict"]).env("PATH", &path).run().exits(0);
    }
}

#[test]
fn dotnet_builds_with_an_sdk_that_is_new_enough() {
    for release in ["8.0.404", "10.0.100"] {
        let project = project("csharp", "dotnet", &["harness", "shared"]);
        let path = first(&sdk(&project, release));
        let build = project.palio(&["build", "dotnet"]).env("PATH", &path).run().exits(0);
        build.prints(&[&format!(".NET {release}")]);
    }
}

#[test]
fn dotnet_is_told_of_as_many_processors_as_it_gets_threads() {
    let project = project("csharp", "dotnet", &[]);
    let stub = stub(&project, "sdk/dotnet", "echo \"$DOTNET_PROCESSOR_COUNT $*\"\n");
    for (threads, said) in [("1", "1"), ("26", "1a")] {
        let output = Command::new("sh")
            .arg(project.path("contenders/csharp/dotnet/start"))
            .args(["x.dll", "--workload", "fib", "--threads", threads, "--salt", "0"])
            .env("PATH", first(&stub))
            .env_remove("DOTNET_PROCESSOR_COUNT")
            .output()
            .unwrap();
        let expected = format!("{said} x.dll --workload fib --threads {threads} --salt 0\n");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

/// A JDK of this release, whose compiler writes down what it is given, and whose machine describes
/// itself as the contender, with the options that it was started with.
fn jdk(project: &Project, release: &str, id: &str) -> PathBuf {
    let compiler = "case $1 in\n-version) echo \"javac RELEASE.0.1\" ;;\n*) echo \"$*\" >\"$(dirname \"$0\")/compiled\" ;;\nesac\n";
    let machine = r#"case $* in
*--describe) ;;
*) exit 1 ;;
esac
printf 'protocol 2\nid ID\nruntime JVM RELEASE\ntoolchain -\nflags allocator=own %s\n' "$1"
sed -n '/^workloads/,/]/p' "$(dirname "$0")/../../contenders/java/ID/contender.toml" | grep -o '"[a-z0-9_/]*"' | sed 's/"\(.*\)"/workload \1/'
"#;
    let name = |program: &str| format!("jdk-{release}/bin/{program}");
    stub(project, &name("java"), &machine.replace("RELEASE", release).replace("ID", id));
    let bin = stub(project, &name("javac"), &compiler.replace("RELEASE", release));
    bin.parent().unwrap().to_owned()
}

const JAVA: [&str; 3] = ["java-fjp", "java-nio", "java-vt"];

#[test]
fn java_names_the_jdk_that_is_too_old() {
    for id in JAVA {
        let project = project("java", id, &["harness", "shared"]);
        for home in [jdk(&project, "17", id), project.path("no-such-folder")] {
            let build = |args: &[&str]| project.palio(args).env("JAVA_HOME", &home).run();
            let said =
                ["not built", "which is no JDK of release 21 or newer", "openjdk-25-jdk-headless"];
            build(&["build", id]).exits(1).prints(&said);
            build(&["build", "--strict"]).exits(0);
        }
    }
}

#[test]
fn java_reads_cpu_time_where_the_jdk_can_call_c() {
    for id in JAVA {
        for (release, calls_c) in [("21", false), ("25", true)] {
            let project = project("java", id, &["harness", "shared"]);
            let home = jdk(&project, release, id);
            let build = project.palio(&["build", id]).env("JAVA_HOME", &home).run().exits(0);
            build.prints(&[&format!("JVM {release}")]);
            let compiled = fs::read_to_string(home.join("bin/compiled")).unwrap();
            assert_eq!(compiled.contains("cpu-time/getrusage/"), calls_c, "{compiled}");
            assert_eq!(compiled.contains("cpu-time/unknown/"), !calls_c, "{compiled}");
            let launcher = project.read(&format!("target/java/{id}"));
            assert_eq!(launcher.contains("--enable-native-access"), calls_c, "{launcher}");
        }
    }
}

#[test]
fn uvloop_names_the_command_that_installs_it() {
    let project = project("python", "uvloop", &["harness", "shared"]);
    // An interpreter that is new enough, and has nothing installed.
    let bare = "case $* in\n*uvloop*) echo \"ModuleNotFoundError: No module named 'uvloop'\" >&2; exit 1 ;;\nesac\n";
    let path = first(&stub(&project, "python/python3", bare));
    let build = project.palio(&["build", "uvloop"]).env("PATH", &path).run().exits(1);
    build.prints(&["not built", "No module named 'uvloop'", "requirements.txt"]);
    project.palio(&["build", "--strict"]).env("PATH", &path).run().exits(0);
}

#[test]
fn uvloop_races_where_the_interpreter_has_it() {
    let project = project("python", "uvloop", &["harness", "shared"]);
    let interpreter = r#"case $* in
*main.py*--describe*)
    printf 'protocol 2\nid uvloop\nruntime uvloop stub\ntoolchain -\nflags allocator=own\n'
    sed -n '/^workloads/,/^]/s/^ *"\(.*\)",/workload \1/p' "$(dirname "$0")/../contenders/python/uvloop/contender.toml" ;;
esac
"#;
    let path = first(&stub(&project, "python/python3", interpreter));
    let build = project.palio(&["build", "uvloop"]).env("PATH", &path).run().exits(0);
    build.prints(&["uvloop stub"]);
}

/// The contenders whose runtime is a checkout: what each leaves out of its manifest, the variable
/// that names the checkout, the files in it that the probe looks for, and what `install` says.
const CHECKOUTS: [(&str, &str, &[&str], &str); 2] = [
    (
        "yaay",
        "YAAY_CHECKOUT",
        &["yaay-runtime-api/Cargo.toml", "yaay-mt-runtime/Cargo.toml", "yaay-mio/Cargo.toml"],
        "git clone https://github.com/Fugoes/yaay-rs",
    ),
    ("smarm", "SMARM_CHECKOUT", &["Cargo.toml", "src/lib.rs"], "smarm 0.3.0 from its author"),
];

/// A contender of Rust's with what its build names, and a `cargo` that keeps the manifest it was
/// given and builds a program which describes itself.
fn checkout_project(id: &str) -> (Project, String) {
    let project = project("rust", id, &["checkout"]);
    for input in ["contenders/rust/shared/x", "contenders/rust/.cargo/x", "crates/palio-protocol/x"]
    {
        project.write(input, "");
    }
    for input in ["contenders/rust/Cargo.toml", "Cargo.toml", "rust-toolchain.toml"] {
        project.write(input, "");
    }
    let script = r#"if [ "$1" = --version ]; then exit; fi
while [ $# -gt 0 ]; do
    case $1 in
    --manifest-path) cp "$2" "$(dirname "$0")/manifest" ;;
    --target-dir) release=$2/release ;;
    esac
    shift
done
mkdir -p "$release"
cat >"$release/contender-ID" <<'END'
#!/bin/sh
printf 'protocol 2\nid ID\nruntime ID stub\ntoolchain -\nflags -\n'
sed -n '/^workloads/,/]/p' MANIFEST | grep -o '"[a-z_]*"' | sed 's/"\(.*\)"/workload \1/'
END
chmod +x "$release/contender-ID"
"#;
    let manifest = project.path(&format!("contenders/rust/{id}/contender.toml"));
    let script = script.replace("MANIFEST", &format!("'{}'", manifest.display()));
    let path = first(&stub(&project, "tool/cargo", &script.replace("ID", id)));
    (project, path)
}

#[test]
fn a_runtime_without_a_checkout_names_the_variable_and_where_it_comes_from() {
    for (id, variable, files, install) in CHECKOUTS {
        let (project, path) = checkout_project(id);
        let build = |args: &[&str], checkout: &str| {
            project.palio(args).env("PATH", &path).env(variable, checkout).run()
        };
        let empty = project.path("empty");
        fs::create_dir(&empty).unwrap();
        let lacking = format!("{variable}={} has no {}", empty.display(), files[0]);
        for (checkout, said) in [
            ("", &*format!("{variable} names no checkout")),
            ("relative", &format!("{variable}=relative is no absolute path")),
            (empty.to_str().unwrap(), &lacking),
        ] {
            build(&["build", id], checkout).exits(1).prints(&["not built", said, install]);
            build(&["build", "--strict"], checkout).exits(0);
        }
    }
}

#[test]
fn a_runtime_is_built_with_the_checkout_that_the_variable_names() {
    for (id, variable, files, _) in CHECKOUTS {
        let (project, path) = checkout_project(id);
        for file in files {
            project.write(&format!("a checkout/{file}"), "");
        }
        let checkout = project.path("a checkout");
        let build = project.palio(&["build", id]).env("PATH", &path).env(variable, &checkout).run();
        build.exits(0).prints(&[&format!("{id} stub")]);
        let manifest = project.read("tool/manifest");
        let names = |folder: &Path| manifest.contains(&format!("path = \"{}/", folder.display()));
        assert!(names(&checkout), "{manifest}");
        // What the contender shares with others is still where it was.
        assert!(names(&project.path("contenders/rust/shared")), "{manifest}");
        assert!(!manifest.contains("path = \".."), "{manifest}");
        // Nothing is written beside the sources.
        assert!(!project.path(&format!("contenders/rust/{id}/checkout")).exists());
    }
}
