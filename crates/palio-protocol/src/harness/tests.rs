use super::*;
use crate::forks::Uncounted;
use std::thread;
use std::time::Duration;

fn request(args: &[&str]) -> Result<Request, Refusal> {
    Request::parse(args.iter().map(|&arg| arg.to_owned()))
}

#[test]
fn a_value_may_contain_an_equals_sign() {
    let mut request =
        request(&["--salt", "3", "--threads", "2", "--workload", "w", "--set", "k=a=b"]).unwrap();
    assert_eq!(request.param::<String>("k").unwrap(), "a=b");
    assert_eq!((request.threads, request.salt), (2, 3));
}

#[test]
fn a_parameter_nobody_took_is_refused() {
    let mut request = request(&[
        "--threads",
        "1",
        "--workload",
        "w",
        "--salt",
        "0",
        "--set",
        "n=1",
        "--set",
        "m=2",
    ])
    .unwrap();
    request.param::<u32>("n").unwrap();
    assert!(request.refuse_what_is_left().unwrap_err().to_string().contains("\"m\""));
}

#[test]
fn forks_are_counted_by_those_who_can_and_only_for_those_who_ask() {
    fn fork<F: Forks>() -> Work {
        Work::new(|| {
            F::handed(3_000_000);
            Iteration { answer: 6, ops: 2, work: None }
        })
    }
    fn forks(request: &mut Request) -> Result<Work, Refusal> {
        Ok(if request.counts_forks() { fork::<Counted>() } else { fork::<Uncounted>() })
    }
    let contender = Contender {
        id: "x",
        runtime: "y",
        version: "1",
        toolchain: "-",
        flags: "-",
        threads_max: 1,
        workloads: &[("forks", forks), ("calls", |_| Ok(fork::<Uncounted>()))],
        knobs: &[],
    };
    let prepare = |workload, count: &[&str]| {
        let args = ["--salt", "0", "--threads", "1", "--workload", workload];
        contender.prepare(request(&[&args, count].concat()).unwrap())
    };
    // Other tests count a few at the same time.
    let counted = prepare("forks", &["--count-forks"]).unwrap().sample_alone(2).forks.unwrap();
    assert_eq!(counted / 1_000_000, 6);
    assert_eq!(prepare("forks", &[]).unwrap().sample_alone(2).forks, None);
    let refusal = prepare("calls", &["--count-forks"]).unwrap_err();
    assert!(matches!(refusal, Refusal::Unsupported(reason) if reason.contains("forks of")));
}

#[test]
fn a_batch_sums_and_keeps_one_answer() {
    let mut work = Work::new(|| Iteration { answer: 6, ops: 2, work: Some(3) });
    let sample = work.sample_alone(4);
    assert_eq!((sample.answer.as_str(), sample.ops, sample.work), ("6", 8, Some(12)));
}

#[test]
fn the_events_of_a_batch_are_summarised_together() {
    let mut calls = 0;
    let mut work = Work::measured(move |events| {
        calls += 1;
        events.extend([calls * 10, calls]);
        Iteration { answer: 2, ops: 2, work: Some(2) }
    });
    let sample = work.sample_alone(3);
    assert_eq!((sample.answer.as_str(), sample.ops, sample.work), ("2", 6, Some(6)));
    assert_eq!(sample.distribution.unwrap().numbers(), [6, 3, 30, 30, 30]);
    // The next sample starts anew.
    assert_eq!(work.sample_alone(1).distribution.unwrap().numbers(), [2, 4, 40, 40, 40]);
    let mut without = Work::new(|| Iteration { answer: 1, ops: 1, work: None });
    assert_eq!(without.sample_alone(2).distribution, None);
}

#[test]
fn a_batch_that_is_done_as_a_whole_is_summed_up_alike() {
    let iterations = |answers: &'static [u64]| {
        Work::batched(move |batch| {
            assert_eq!(batch as usize, answers.len());
            let mut done = Iterations::start();
            for &answer in answers {
                done.add(Iteration { answer, ops: 2, work: Some(3) });
            }
            done.stop()
        })
    };
    let sample = iterations(&[7, 7, 7]).sample_alone(3);
    assert_eq!((sample.answer.as_str(), sample.ops, sample.work), ("7", 6, Some(9)));
    let sample = iterations(&[7, 8, 7]).sample_alone(3);
    assert_eq!(sample.answer, "differs:7:8");
}

#[test]
fn the_way_to_the_iterations_of_a_batch_and_back_is_not_timed() {
    const WAY: Duration = Duration::from_millis(20);
    let mut work = Work::batched(|_| {
        thread::sleep(WAY);
        let mut done = Iterations::start();
        done.add(Iteration { answer: 7, ops: 2, work: Some(3) });
        let done = done.stop();
        thread::sleep(WAY);
        done
    });
    let start = Instant::now();
    let sample = work.sample_alone(1);
    assert!(Duration::from_nanos(sample.elapsed_ns) + 2 * WAY <= start.elapsed());
}

#[test]
fn answers_that_differ_inside_a_batch_are_shown() {
    for odd in [1, 2, 3] {
        let mut calls = 0;
        let mut work = Work::new(move || {
            calls += 1;
            Iteration { answer: if calls == odd { 9 } else { 6 }, ops: 1, work: None }
        });
        assert!(
            work.sample_alone(3).answer.starts_with("differs:"),
            "the odd one was number {odd}"
        );
    }
}

#[test]
fn less_work_inside_a_batch_is_not_hidden() {
    let mut calls = 0;
    let mut work = Work::new(move || {
        calls += 1;
        Iteration { answer: 6, ops: 1, work: Some(if calls == 2 { 1 } else { 5 }) }
    });
    assert_ne!(work.sample_alone(3).work, Some(15));
}

#[test]
fn staged_work_runs_its_stages_in_order() {
    struct Stages(Vec<&'static str>);
    impl Staged for Stages {
        fn prepare(&mut self) {
            self.0.push("prepare");
        }
        fn run(&mut self) {
            self.0.push("run");
        }
        fn finish(&mut self) -> Iteration {
            let ok = self.0.chunks(2).all(|pair| pair == ["prepare", "run"]);
            Iteration { answer: ok.into(), ops: 1, work: Some(1) }
        }
    }
    let sample = Work::staged(Stages(Vec::new())).sample_alone(3);
    assert_eq!((sample.answer.as_str(), sample.work), ("1", Some(3)));
}

#[test]
fn whoever_serves_says_where_before_each_iteration() {
    let mut work = Work::serving(4_242, || Iteration { answer: 1, ops: 3, work: Some(3) });
    let mut output = Vec::new();
    obey(&mut work, &b"run 2 2\nquit\n"[..], &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    let lines: Vec<_> = output.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let each = ["serving", "serving", "sample"];
    assert_eq!(lines, [&each[..], &each, &["done"]].concat());
    assert_eq!(output.lines().filter(|line| *line == "serving 4242").count(), 4);
}
