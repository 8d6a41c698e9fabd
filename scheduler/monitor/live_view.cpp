#include "scheduler/monitor/live_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/shown_line.h"

namespace detol::inline scheduler {
namespace {

constexpr double kBusyS = 0.25;  // between two frames when something happened
constexpr double kIdleS = 0.95;  // between two frames when nothing happened

// Warnings holds the lines that were appended to a file, each once, the latest last.
class Warnings {
 public:
  explicit Warnings(const std::filesystem::path& file)
      : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Warnings() {
    if (fd_ >= 0) ::close(fd_);
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  // Reads what was appended; returns true if there was anything.
  bool read() {
    std::array<char, 65536> bytes;
    const auto size = ::read(fd_, bytes.data(), bytes.size());
    if (size <= 0) return false;
    for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(size))) {
      if (auto line = begun_.take(c)) add(*std::move(line));
    }
    return true;
  }

  const std::vector<ViewWarning>& lines() const { return lines_; }

  // Takes a last line that has no end.
  void end() { add(begun_.end()); }

  // Returns the lines since the last call.
  std::vector<std::string> fresh() { return std::exchange(fresh_, {}); }

 private:
  void add(std::string text) {
    if (text.empty()) return;
    fresh_.push_back(text);
    ViewWarning warning{std::move(text), 1};
    const auto same = std::ranges::find(lines_, warning.text, &ViewWarning::text);
    if (same != lines_.end()) {
      warning.count += same->count;
      lines_.erase(same);
    }
    lines_.push_back(std::move(warning));
    if (lines_.size() > kMost) lines_.erase(lines_.begin());
  }

  static constexpr std::size_t kMost = 100;

  const int fd_;
  ShownLine begun_;  // a line whose end is not written yet
  std::vector<ViewWarning> lines_;
  std::vector<std::string> fresh_;
};

class LiveView final : public Progress {
 public:
  LiveView(const StudyMonitor::Study& study, LiveViewSettings settings, Clock& clock)
      : Progress(study, clock),
        clock_(clock),
        color_(settings.color),
        redirect_(redirect_stderr(settings.stderr_file)),
        fd_(redirect_ ? redirect_->before() : STDERR_FILENO),
        warnings_(settings.stderr_file),
        painter_(fd_, settings.owner, std::move(settings.state_file)) {}

  void happened(const Event& event, const StudyState& state) override {
    monitor_.happened(event);
    is_changed_ = true;
    if (std::holds_alternative<event::StudyState>(event)) draw(state, {state.spent(), false});
  }

  void turned(const StudyState& state, const Standing& standing) override {
    is_changed_ = warnings_.read() || standing.is_stopping || is_changed_;
    if (clock_.now_s() - drawn_s_ < (is_changed_ ? kBusyS : kIdleS)) return;
    draw(state, standing);
  }

 private:
  void give_back() override {
    redirect_.reset();
    warnings_.read();
    warnings_.end();
    for (const std::string& line : warnings_.fresh()) log_warning("{}", line);  // not yet shown
  }
  bool shows_the_best() const override { return true; }

  // Without a redirection, lines disturb the frame.
  static std::optional<StderrRedirect> redirect_stderr(const std::filesystem::path& file) {
    auto redirect = StderrRedirect::into(file.string());
    return redirect ? std::optional(std::move(*redirect)) : std::nullopt;
  }

  void draw(const StudyState& state, const Standing& standing) {
    drawn_s_ = clock_.now_s();
    is_changed_ = false;
    View view = monitor_.view(state, standing);
    view.warnings = warnings_.lines();
    warnings_.fresh();
    const Screen screen = screen_at(fd_, color_);
    painter_.draw(render(view, screen), screen);
  }

  Clock& clock_;
  const bool color_;
  std::optional<StderrRedirect> redirect_;
  const int fd_;  // of the terminal
  Warnings warnings_;
  Painter painter_;
  double drawn_s_ = -1e9;
  bool is_changed_ = true;
};

}  // namespace

std::unique_ptr<Progress> make_live_view(const StudyMonitor::Study& study,
                                         LiveViewSettings settings, Clock& clock) {
  return std::make_unique<LiveView>(study, std::move(settings), clock);
}

}  // namespace detol::inline scheduler
