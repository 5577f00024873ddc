// A pool of vCPUs, and what a task is in Photon: a thread of Photon's, on one of them in turn.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <photon/photon.h>
#include <photon/thread/future.h>
#include <photon/thread/thread.h>
#include <photon/thread/thread11.h>
#include <photon/thread/workerpool.h>

#include "palio.hpp"

namespace contender {

class Runtime {
public:
    // In this mode each work from outside becomes a thread of Photon's.
    explicit Runtime(std::size_t threads) : pool_(threads, photon::INIT_EVENT_EPOLL, photon::INIT_IO_NONE, 0) {
        current_ = &pool_;
    }

    template <class Work>
    void enter(Work work) {
        pool_.async_call(new Work(std::move(work)));
    }

    // A future of the standard library's: the thread outside is none of Photon's.
    template <class Work>
    auto start(Work work) {
        using T = decltype(work());
        auto task = std::make_shared<std::packaged_task<T()>>(std::move(work));
        auto future = task->get_future();
        enter([task] { (*task)(); });
        return future;
    }

    template <class Work>
    auto run(Work work) {
        return start(std::move(work)).get();
    }

    template <class T>
    class Handle {
    public:
        T join() {
            photon::thread_join(handle_);
            if (ended_->error) std::rethrow_exception(ended_->error);
            return std::move(*ended_->value);
        }

    private:
        friend class Runtime;
        struct Ended {
            std::optional<T> value;
            std::exception_ptr error;
        };
        std::unique_ptr<Ended> ended_ = std::make_unique<Ended>();
        photon::join_handle* handle_ = nullptr;
    };

    template <class Work>
    static auto spawn(Work work) {
        Handle<decltype(work())> handle;
        photon::thread* const thread = photon::thread_create11([ended = handle.ended_.get(), work = std::move(work)] {
            try {
                ended->value = work();
            } catch (...) {
                ended->error = std::current_exception();
            }
        });
        handle.handle_ = photon::thread_enable_join(thread);
        current_->thread_migrate(thread);
        return handle;
    }

    template <class Work>
    static void detach(Work work) {
        current_->thread_migrate(photon::thread_create11(std::move(work)));
    }

    static void yield() { photon::thread_yield(); }
    static void sleep(std::chrono::milliseconds duration) {
        photon::thread_usleep(static_cast<std::uint64_t>(std::chrono::microseconds(duration).count()));
    }

    class Oneshot {
    public:
        void send(std::uint64_t number) { future_.get_promise().set_value(number); }
        std::uint64_t receive() { return future_.get(); }

    private:
        photon::Future<std::uint64_t> future_;
    };

private:
    // The pool that the threads of this process go to; there is one at a time.
    static inline photon::WorkPool* current_ = nullptr;

    photon::WorkPool pool_;
};

}  // namespace contender
