//! Contenders whose library no package brings: where a prefix holds one, as its authors install it,
//! the contender's probe finds it there, and the contender is built and describes itself. What
//! stands here is as much of each library as a probe looks at, and no compiler, so that this is
//! about the manifests, and not about the libraries.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Project, assert_has};
use serde_json::Value;

/// The contender, and what its library leaves in a prefix: a CMake package of a name and version,
/// or a header.
const LIBRARIES: [(&str, Installed); 8] = [
    ("libfork", Installed::Package { name: "libfork", version: "3.8.0" }),
    ("tmc", Installed::Package { name: "TooManyCooks", version: "1.5.0" }),
    ("citor", Installed::Package { name: "citor", version: "0.6.0" }),
    ("taskflow", Installed::Package { name: "Taskflow", version: "4.1.0" }),
    ("concurrencpp", Installed::Package { name: "concurrencpp", version: "0.1.7" }),
    ("folly", Installed::Package { name: "folly", version: "0.58.0" }),
    ("coros", Installed::Header("wait_tasks.h")),
    ("photon", Installed::Header("photon/photon.h")),
];

enum Installed {
    Package { name: &'static str, version: &'static str },
    Header(&'static str),
}

impl Installed {
    fn write(&self, project: &Project, prefix: &str) {
        match self {
            Self::Package { name, version } => {
                let place = format!("{prefix}/lib/cmake/{name}/{name}Config");
                project.write(&format!("{place}.cmake"), "");
                project.write(
                    &format!("{place}Version.cmake"),
                    &format!(
                        "set(PACKAGE_VERSION {version})\n\
                         if(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)\n  \
                         set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n"
                    ),
                );
            }
            Self::Header(header) => {
                project.write(&format!("{prefix}/include/{header}"), "");
            }
        }
    }
}

/// Copies a folder of this repository into the project.
fn copy(project: &Project, folder: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for entry in fs::read_dir(repository.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(project, &name);
        } else {
            project.write(&name, &fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// What the probe of the contender's library is, and whether it found something.
fn library<'a>(doctor: &'a Value, id: &str) -> Option<&'a Value> {
    let contenders = doctor["contenders"].as_array().unwrap();
    let contender = contenders.iter().find(|contender| contender["id"] == id).unwrap();
    contender["missing"].as_array().unwrap().iter().find(|missing| missing["optional"] == true)
}

#[test]
fn the_probe_of_an_optional_library_finds_it_in_the_prefix_that_the_user_names() {
    let project = Project::new();
    copy(&project, "contenders/cpp/harness");
    for (id, _) in &LIBRARIES {
        copy(&project, &format!("contenders/cpp/{id}"));
    }
    let doctor = |prefix: &str| {
        let palio = project.palio(&["doctor", "--json"]);
        palio.env("CMAKE_PREFIX_PATH", project.path(prefix)).run().exits(0).json()
    };
    for (id, installed) in &LIBRARIES {
        installed.write(&project, &format!("installed/{id}"));
    }
    let prefixes =
        LIBRARIES.map(|(id, _)| format!("{}", project.path("installed").join(id).display()));
    let found = doctor(&prefixes.join(":"));
    for ((id, _), prefix) in LIBRARIES.iter().zip(&prefixes) {
        assert!(library(&found, id).is_none(), "{id}: {:#}", library(&found, id).unwrap());
        // There, and nowhere else.
        let seen = project.read(&format!("target/cpp/find/{id}/CMakeCache.txt"));
        assert!(seen.contains(&format!("={prefix}/")), "{id} was found elsewhere:\n{seen}");
    }
    // In a prefix without them they are missing, unless this machine has one of its own; whoever
    // misses one is told where it comes from, and which variable names it.
    let missed = doctor("nothing");
    for ((id, _), prefix) in LIBRARIES.iter().zip(&prefixes) {
        let seen = project.read(&format!("target/cpp/find/{id}/CMakeCache.txt"));
        assert!(!seen.contains(&format!("={prefix}/")), "{id} is still found in {prefix}");
        if let Some(missing) = library(&missed, id) {
            let install = missing["install"].as_str().unwrap();
            assert_has(install, &["https://github.com/", "named in CMAKE_PREFIX_PATH"]);
        }
    }
}

/// A folder with a `cmake` that lets the system's own look for packages, finds every compiler, and
/// builds programs which describe themselves as what they were configured to be; and with a `c++`
/// that finds every library.
fn tools(project: &Project) -> PathBuf {
    let path = std::env::var("PATH").unwrap();
    let own = std::env::split_paths(&path).map(|folder| folder.join("cmake"));
    let own = own.into_iter().find(|cmake| cmake.is_file()).expect("cmake on PATH");
    let script = r#"case "$1 $2" in
"-S "*/harness/find) exec OWN "$@" ;;
"-S "*) mkdir -p "$4" && echo "$2 ${6#*=}" >"$4/configured" ;;
"--build "*)
    read -r source features <"$2/configured"
    id=$(basename "$source")
    cat >"$2/$id" <<END
#!/bin/sh
features=$features
allocator=\${features##*,}
[ "\$allocator" ] || allocator=system
printf 'protocol 2\\nid $id%s\\nruntime $id stub\\ntoolchain -\\nflags allocator=%s\\n' \\
    "\${features:+-\${features%%,*}}" "\$allocator"
sed -n '/^workloads/,/]/p' '$source/contender.toml' | grep -o '"[a-z0-9_/]*"' | sed 's/"\(.*\)"/workload \1/'
END
    chmod +x "$2/$id" ;;
esac
"#;
    for (name, script) in [
        ("cmake", script.replace("OWN", &format!("'{}'", own.display()))),
        ("c++", "exit 0\n".to_owned()),
        ("g++", "exit 0\n".to_owned()),
    ] {
        let tool = project.write(&format!("tools/{name}"), &format!("#!/bin/sh\n{script}"));
        fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.path("tools")
}

#[test]
fn a_contender_is_built_by_its_manifest_where_its_library_is() {
    let project = Project::new();
    copy(&project, "contenders/cpp/harness");
    let tools = tools(&project);
    let allocator = Installed::Package { name: "mimalloc", version: "2.0.9" };
    allocator.write(&project, "installed/mimalloc");
    let allocator = project.path("installed/mimalloc");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    for (id, installed) in &LIBRARIES {
        copy(&project, &format!("contenders/cpp/{id}"));
        let place = format!("installed/{id}");
        installed.write(&project, &place);
        let prefixes = format!("{}:{}", project.path(&place).display(), allocator.display());
        let listed = project.palio(&["list", "contenders", "--json"]).run().exits(0).json();
        let variants: Vec<&str> = listed
            .as_array()
            .unwrap()
            .iter()
            .filter(|contender| contender["base"] == *id)
            .map(|contender| contender["id"].as_str().unwrap())
            .collect();
        assert!(variants.len() >= 2, "{id}: {variants:?}");
        for variant in variants {
            let build = project.palio(&["build", variant]).env("CMAKE_PREFIX_PATH", &prefixes);
            build.env("PATH", &path).run().exits(0).prints(&[&format!("built: {id} stub")]);
        }
    }
}
