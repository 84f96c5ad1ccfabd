#pragma once
// Memory that the processes of a node share, and which of them live.
//
// It has a name only until all have it. Memory left by a killed creator is removed by the next
// process that makes memory here.
//
// A living process holds a lock of one byte, which belongs to an open file that nothing but the
// mapping of the memory keeps open. The kernel drops both when the process ends, however it ends
// and in any namespace of processes; a forked child has no part in it. (But a child
// that another thread forks in the few microseconds in which the file is open by number.)

#include <cstddef>
#include <string>

#include "core/descriptor.h"

namespace polypath::communicator {

class NamedMemory {
 public:
  /// New memory of zeros; its maker holds byte 0. Error (out_of_memory, communicator).
  static NamedMemory create(std::size_t bytes);
  /// The memory of that name, of which this opening holds `byte`. Error (communicator).
  static NamedMemory open(const std::string& name, std::size_t bytes, std::size_t byte);
  /// New memory of this process alone.
  static NamedMemory alone(std::size_t bytes);

  NamedMemory(NamedMemory&& other) noexcept;
  NamedMemory& operator=(NamedMemory&& other) noexcept;
  /// The memory is not there any more; nor its name, if this is its maker.
  ~NamedMemory();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// From here on no process can open it.
  static void remove_name(const std::string& name) noexcept;

  /// False if its holder has ended. True as well where this is unknown.
  [[nodiscard]] bool is_held(std::size_t byte) const;

 private:
  NamedMemory(std::string name, std::size_t bytes);

  void attach(const Descriptor& file, std::size_t byte);
  [[nodiscard]] bool can_ask() const;

  std::string name_;
  std::size_t bytes_;
  bool is_maker_ = false;
  void* data_ = nullptr;
  int generation_;   ///< of the process that has it
  int asking_ = -1;  ///< another opening, to ask for locks with; the program may have closed it
  unsigned long device_ = 0, file_ = 0;
};

}  // namespace polypath::communicator
