#pragma once
// Exchanges between GPUs of different nodes, by way of pinned memory that a proxy sends from and
// receives into. There are a few slots of bounded size; larger messages go in pieces.

#include <vector>

#include "collective/internode/network_proxy.h"
#include "collective/internode/piece_exchange.h"
#include "machine/machine.h"

namespace polypath::collective {

/// Slots are used in turn, each by start() and then finish() in one stream.
class NodeExchange final : public PieceExchange {
 public:
  /// Slots of so many bytes each way. Errors of the driver.
  NodeExchange(Driver& driver, const Machine& machine, PlaceId gpu, Bytes slot, ProxyGroup group);
  /// Nothing may be queued that uses it.
  ~NodeExchange() override;

  [[nodiscard]] NetworkProxy& proxy() { return proxy_; }
  /// No message goes any more; the memory stays.
  void stop() { proxy_.stop(); }

  /// After the work in the stream, copies out the given messages. Error (internal) if it is too
  /// large.
  void start(int slot, const NodeMessages& messages, StreamHandle stream) override;
  void finish(int slot, StreamHandle stream) override;

 private:
  struct Slot {
    Address out;
    Address in;
    std::vector<NodeMessages::Taken> taken;
  };

  /// Makes and frees the pinned memory.
  struct Memory {
    Memory(Driver& driver, PlaceId host, Bytes bytes);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();
    Driver& driver;
    Address address;
  };

  void check(const NodeMessages& messages) const;
  void copy(Address to, PlaceId at, Address from, PlaceId source, Bytes bytes,
            StreamHandle stream) const;

  Driver& driver_;
  PlaceId gpu_;
  PlaceId host_;
  Bytes slot_;
  Memory memory_;
  std::vector<Slot> slots_;
  NetworkProxy proxy_;  ///< last, so that its thread ends before its memory
};

}  // namespace polypath::collective
