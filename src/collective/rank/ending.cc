#include "collective/rank/ending.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "communicator/bootstrap/deadline.h"
#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

constexpr std::chrono::microseconds kBetweenQuestions{50};

}  // namespace

void end_together(const std::function<std::vector<Blob>(const Blob&)>& round,
                  const std::function<void()>& synchronize) {
  (void)round({});
  Blob problem;
  try {
    synchronize();
  } catch (const Error& error) {
    problem = error.what();
  }
  const std::vector<Blob> problems = round(problem);
  for (std::size_t rank = 0; rank < problems.size(); ++rank)
    if (!problems[rank].empty())
      fail(ErrorCode::driver, fmt::format("Calls of rank {} have not ended well", rank),
           problems[rank], "Take no result of this run for right.");
}

bool await_end(const std::function<bool()>& is_over, const std::function<void()>& check,
               Seconds timeout) noexcept {
  bool over = false;
  (void)ignore_errors([&] {
    std::optional<Deadline> deadline;
    while (!(over = is_over()) && !(deadline && deadline->has_passed())) {
      if (!deadline && !ignore_errors(check)) deadline = Deadline(timeout);
      std::this_thread::sleep_for(kBetweenQuestions);
    }
  });
  return over;
}

}  // namespace polypath::collective
