#pragma once
// A random program: buffers, and steps that it makes with them. Only what is ordered is done, so
// that every byte is known: `expected` of each buffer is what would be there if all had been done
// one after the other.

#include "random_copies.h"

namespace program {

class World {
 public:
  struct Size {
    int gpus;
    std::size_t threads, most_bytes;
    bool alone;  ///< no other world in this process
  };

  World(std::uint64_t seed, const Size& size)
      : chance_(seed), size_(size), actors_(chance_, size.gpus, size.threads) {
    for (int i = 0; i < 3; ++i) add_buffer(Kind::device);
    for (int i = 0; i < 4; ++i) add_buffer(any_kind());
  }

  /// Memory of another process, zeroes at first.
  void import(const CUipcMemHandle& handle, std::size_t bytes) {
    Buffer made;
    made.kind = Kind::imported;
    made.expected.resize(bytes);
    imports_.push_back(handle);
    if (actors_.call(0, [&] { return cuIpcOpenMemHandle_v2(&made.address, handle, 1); }) == 0)
      buffers_.push_back(std::make_unique<Buffer>(std::move(made)));
  }

  void run(std::size_t steps) {
    for (step_ = 1; step_ <= steps; ++step_) {
      trace("step %zu\n", step_);
      make_step();
    }
    for (int gpu = 0; gpu < size_.gpus; ++gpu) actors_.synchronize_context(gpu);
    holds_.clear();
    for (const auto& buffer : buffers_) {
      actors_.order({buffer.get(), 0, buffer->bytes(), true});
      check_at_end(*buffer);
    }
  }

  /// After `run`: unmaps what was imported, and returns what should be there.
  std::vector<std::vector<unsigned char>> give_back_imports() {
    std::vector<std::vector<unsigned char>> all;
    for (const auto& buffer : buffers_) {
      if (buffer->kind != Kind::imported) continue;
      actors_.call(buffer->gpu, [&] { return free_buffer(*buffer); });
      all.push_back(buffer->expected);
    }
    return all;
  }

  [[nodiscard]] bool right() const { return wrong_ == 0; }
  void report(std::size_t number) const {
    std::printf("%s%sworld %zu: codes %016llx, bytes %016llx, %zu wrong\n",
                actors_.refused().c_str(), said_.c_str(), number, actors_.codes(), bytes_.value(),
                wrong_);
    std::printf("# copies: %zu, graphs: %zu, buffers left: %zu\n", copies_, graphs_,
                buffers_.size());
  }

 private:
  void make_step() {
    const std::size_t kind = chance_.below(100);
    if (kind < 45) copy();
    else if (kind < 52) fill();
    else if (kind < 60) write_by_host();
    else if (kind < 68) check_any();
    else if (kind < 74) host_function();
    else if (kind < 79) be_slow();
    else if (kind < 82) actors_.let_wait(actors_.any_stream(), actors_.any_stream());
    else if (kind < 84) actors_.wait_for(actors_.any_stream());
    else if (kind < 89) add_buffer(any_kind());
    else if (kind < 92) free_any();
    else if (kind < 94) change_streams();
    else if (kind < 98) graph();
    else if (kind < 99) peer_access();
    else beyond_the_end();
  }

  Kind any_kind() {
    constexpr Kind kKinds[] = {Kind::device,     Kind::device,   Kind::mapped,
                               Kind::pooled,     Kind::pinned,   Kind::pinned,
                               Kind::registered, Kind::pageable, Kind::managed};
    return kKinds[chance_.below(std::size(kKinds))];
  }
  Buffer& any_buffer() { return *chance_.of(buffers_); }

  // random_buffers.h
  void add_buffer(Kind kind);
  void keep_written(std::unique_ptr<Buffer> made);
  void free_any();
  void reopen(Buffer& buffer);
  std::size_t import_number(const Buffer& sought);
  void check_any();
  void compare(const Buffer& buffer, const unsigned char* got, std::size_t offset,
               std::size_t bytes);
  void check_at_end(const Buffer& buffer);

  // random_steps.h
  void copy();
  void fill();
  void write_by_host();
  void host_function();
  void be_slow();
  void change_streams();
  void peer_access();
  void beyond_the_end();

  // random_graphs.h
  void graph();
  void launch_often(Stream& stream, const std::vector<Copy>& copies);
  bool instantiate(const Stream& stream, const std::vector<Copy>& copies, CUgraphExec& executable);

  Chance chance_;
  Size size_;
  Actors actors_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<CUipcMemHandle> imports_;
  std::vector<std::unique_ptr<After>> holds_;
  Digest bytes_;
  std::string said_;
  std::size_t step_ = 0, wrong_ = 0, copies_ = 0, graphs_ = 0;
};

}  // namespace program
