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
    constexpr Kind kKinds[] = {Kind::device,     Kind::device,   Kind::pinned,
                               Kind::registered, Kind::pageable, Kind::managed};
    return kKinds[chance_.below(std::size(kKinds))];
  }
  Buffer& any_buffer() { return *chance_.of(buffers_); }

  void add_buffer(Kind kind) {
    if (buffers_.size() >= 12) return;
    const int gpu = actors_.any_gpu();
    const std::size_t bytes = chance_.size(size_.most_bytes);
    auto made = std::make_unique<Buffer>();
    CUresult result = 0;
    actors_.call(gpu, [&] {
      *made = make_buffer(kind, gpu, bytes, result);
      return result;
    });
    if (made->address == 0) return;
    if (made->on_host()) return keep_written(std::move(made));
    // What is in new memory of a GPU is nobody's business until it has been written.
    Stream& stream = actors_.any_stream_of(gpu);
    if (actors_.call_in(
            stream, [&] { return cuMemsetD8Async(made->address, 0, bytes, stream.handle); }) != 0)
      return;
    actors_.enqueued(stream, {{made.get(), 0, bytes, true}});
    buffers_.push_back(std::move(made));
  }
  void keep_written(std::unique_ptr<Buffer> made) {
    chance_.fill(made->expected.data(), made->bytes());
    std::memcpy(made->host(), made->expected.data(), made->bytes());
    buffers_.push_back(std::move(made));
  }

  void free_any() {
    constexpr std::size_t kKept = 3;  // there is always something to copy
    if (buffers_.size() <= kKept) return;
    const std::size_t index = kKept + chance_.below(buffers_.size() - kKept);
    Buffer& buffer = *buffers_[index];
    if (buffer.kind == Kind::imported) return reopen(buffer);
    actors_.order({&buffer, 0, buffer.bytes(), true});
    actors_.call(buffer.gpu, [&] { return free_buffer(buffer); });
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  // In the context of any GPU, where it may get another address.
  void reopen(Buffer& buffer) {
    actors_.order({&buffer, 0, buffer.bytes(), true});
    actors_.call(buffer.gpu, [&] { return free_buffer(buffer); });
    buffer.gpu = actors_.any_gpu();
    const std::size_t number = import_number(buffer);
    const CUresult result = actors_.call(
        buffer.gpu, [&] { return cuIpcOpenMemHandle_v2(&buffer.address, imports_[number], 1); });
    EXPECT(result == 0);
  }
  std::size_t import_number(const Buffer& sought) {
    std::size_t number = 0;
    for (const auto& buffer : buffers_) {
      if (buffer.get() == &sought) break;
      number += buffer->kind == Kind::imported;
    }
    return number;
  }

  void copy() {
    const Copy copy = any_copy(chance_, buffers_);
    const Buffer& near = copy.from->on_host() ? *copy.to : *copy.from;
    Stream& stream = chance_.one_in(8) ? actors_.any_stream() : actors_.any_stream_of(near.gpu);
    make_copy(actors_, chance_, copy, stream);
    ++copies_;
  }

  void fill() {
    Buffer& buffer = any_buffer();
    if (buffer.on_host()) return;
    const std::size_t bytes = chance_.size(buffer.bytes());
    const std::size_t offset = any_offset(chance_, buffer, bytes);
    const auto value = static_cast<unsigned char>(chance_.below(256));
    Stream& stream = actors_.any_stream_of(buffer.gpu);
    const Access access{&buffer, offset, bytes, true};
    actors_.order(stream, {access});
    const CUresult result = actors_.call_in(stream, [&] {
      return cuMemsetD8Async(buffer.address + offset, value, bytes, stream.handle);
    });
    if (result != 0) return;
    std::memset(buffer.expected.data() + offset, value, bytes);
    actors_.enqueued(stream, {access});
  }

  void write_by_host() {
    Buffer& buffer = any_buffer();
    if (!buffer.on_host()) return;
    const std::size_t bytes = chance_.size(buffer.bytes());
    const std::size_t offset = any_offset(chance_, buffer, bytes);
    actors_.order({&buffer, offset, bytes, true});
    chance_.fill(buffer.expected.data() + offset, bytes);
    std::memcpy(buffer.host() + offset, buffer.expected.data() + offset, bytes);
  }

  // The program's own function in a stream, which fills host memory.
  struct Filling {
    unsigned char* at;
    std::size_t bytes;
    unsigned char value;
  };
  void host_function() {
    Buffer& buffer = any_buffer();
    if (!buffer.on_host()) return;
    const std::size_t bytes = chance_.size(buffer.bytes());
    const std::size_t offset = any_offset(chance_, buffer, bytes);
    const auto value = static_cast<unsigned char>(chance_.below(256));
    Stream& stream = actors_.any_stream();
    const Access access{&buffer, offset, bytes, true};
    actors_.order(stream, {access});
    auto* filling = new Filling{buffer.host() + offset, bytes, value};
    const CUresult result = actors_.call_in(stream, [&] {
      return cuLaunchHostFunc(
          stream.handle,
          [](void* data) {
            const std::unique_ptr<Filling> asked(static_cast<Filling*>(data));
            std::memset(asked->at, asked->value, asked->bytes);
          },
          filling);
    });
    if (result != 0) return;
    std::memset(buffer.expected.data() + offset, value, bytes);
    actors_.enqueued(stream, {access});
  }

  // What comes later in the stream, or waits for it, waits for a while.
  void be_slow() {
    Stream& stream = actors_.any_stream();
    const auto time = std::chrono::milliseconds(1 + chance_.below(4));
    auto hold = std::make_shared<Hold>(chance_.one_in(2) ? By::value : By::function);
    if (actors_.call_in(stream, [&] { return hold->try_in(stream.handle); }) != 0) return;
    holds_.push_back(std::make_unique<After>(time, [hold] { hold->release(); }));
    actors_.enqueued(stream, {});
  }

  void change_streams() {
    if (chance_.one_in(2))
      return actors_.add_stream(
          actors_.any_gpu(), chance_.one_in(2) ? StreamKind::blocking : StreamKind::non_blocking);
    Stream& stream = actors_.any_stream();
    const bool created = stream.handle != nullptr && stream.kind != StreamKind::per_thread;
    if (created) actors_.destroy(stream);
  }

  // A few copies, one after the other, launched more than once.
  void graph() {
    Stream& stream = actors_.any_stream();
    if (stream.kind != StreamKind::non_blocking || !size_.alone) return;
    std::vector<Copy> copies;
    for (std::size_t i = 1 + chance_.below(3); i > 0; --i) {
      const Copy copy = any_copy(chance_, buffers_);
      const bool simple =
          !copy.pageable() && copy.to->kind != Kind::managed && copy.from->kind != Kind::managed;
      if (simple) copies.push_back(copy);
    }
    if (!copies.empty()) launch_often(stream, copies);
  }
  void launch_often(Stream& stream, const std::vector<Copy>& copies) {
    CUgraphExec executable = nullptr;
    if (!instantiate(stream, copies, executable)) return;
    ++graphs_;
    std::vector<Access> accesses;
    for (const Copy& copy : copies)
      for (const Access& access : copy.accesses()) accesses.push_back(access);
    for (std::size_t i = 1 + chance_.below(3); i > 0; --i) {
      Stream& into = actors_.any_stream_of(stream.gpu);
      actors_.order(into, accesses);
      if (actors_.call_in(into, [&] { return cuGraphLaunch(executable, into.handle); }) != 0)
        continue;
      for (const Copy& copy : copies) copy.apply();
      actors_.enqueued(into, accesses);
      if (chance_.one_in(2)) actors_.synchronize(into);
    }
    actors_.synchronize_context(stream.gpu);
    actors_.call(stream.gpu, [&] { return cuGraphExecDestroy(executable); });
  }
  bool instantiate(const Stream& stream, const std::vector<Copy>& copies, CUgraphExec& executable) {
    CUgraph graph = nullptr;
    const CUresult result = actors_.call(stream.gpu, [&] {
      CUresult all = cuStreamBeginCapture_v2(stream.handle, 0);
      for (const Copy& copy : copies)
        if (all == 0)
          all = cuMemcpyAsync(copy.destination(), copy.source(), copy.bytes, stream.handle);
      const CUresult ended = cuStreamEndCapture(stream.handle, &graph);
      if (all == 0 && ended == 0) all = cuGraphInstantiateWithFlags(&executable, graph, 0);
      if (graph != nullptr) cuGraphDestroy(graph);
      return all != 0 ? all : ended;
    });
    return result == 0;
  }

  void peer_access() {
    if (!size_.alone) return;
    const int from = actors_.any_gpu(), to = actors_.any_gpu();
    for (int gpu = 0; gpu < size_.gpus; ++gpu) actors_.synchronize_context(gpu);
    const bool enable = !chance_.one_in(3);
    actors_.call(from, [&] {
      return enable ? cuCtxEnablePeerAccess(actors_.context(to), 0)
                    : cuCtxDisablePeerAccess(actors_.context(to));
    });
  }

  // The driver refuses it, and nothing is copied.
  void beyond_the_end() {
    Buffer &to = any_buffer(), &from = any_buffer();
    if (to.kind != Kind::device || from.kind != Kind::device) return;
    const Stream& stream = actors_.any_stream_of(from.gpu);
    actors_.call_in(stream, [&] {
      return cuMemcpyDtoDAsync_v2(to.address, from.address, (std::size_t{1} << 40), stream.handle);
    });
  }

  void check_any() {
    Buffer& buffer = any_buffer();
    const std::size_t bytes = chance_.size(buffer.bytes());
    const std::size_t offset = any_offset(chance_, buffer, bytes);
    if (!buffer.on_gpu()) {
      actors_.order({&buffer, offset, bytes, false});
      return compare(buffer, buffer.host() + offset, offset, bytes);
    }
    Stream& stream = actors_.any_stream_of(buffer.gpu);
    std::vector<unsigned char> got(bytes);
    actors_.order(stream, {{&buffer, offset, bytes, false}});
    const CUresult result = actors_.call_in(stream, [&] {
      return cuMemcpyDtoHAsync_v2(got.data(), buffer.address + offset, bytes, stream.handle);
    });
    actors_.synchronize(stream);
    if (result == 0) compare(buffer, got.data(), offset, bytes);
  }
  void compare(const Buffer& buffer, const unsigned char* got, std::size_t offset,
               std::size_t bytes) {
    const unsigned char* wanted = buffer.expected.data() + offset;
    if (std::memcmp(got, wanted, bytes) == 0) return;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) wrong += got[i] != wanted[i];
    wrong_ += wrong;
    said_ += "step " + std::to_string(step_) + ": " + std::to_string(wrong) + " of " +
             std::to_string(bytes) + " bytes wrong in " + buffer.name() + "\n";
  }
  void check_at_end(const Buffer& buffer) {
    std::vector<unsigned char> got;
    use(buffer.gpu);
    if (buffer.on_gpu()) got = read(buffer.address, buffer.bytes());
    const unsigned char* bytes = buffer.on_gpu() ? got.data() : buffer.host();
    bytes_.add(bytes, buffer.bytes());
    compare(buffer, bytes, 0, buffer.bytes());
  }

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
