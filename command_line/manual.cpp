#include "command_line/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "core/exit_code.h"

namespace detol::inline command_line {
namespace {

struct Escape {
  char letter;
  std::string_view text;
};
constexpr std::array<Escape, 7> kEscapes = {{{'\\', "\\e"},
                                             {'-', "\\-"},
                                             {'\'', "\\(aq"},
                                             {'`', "\\(ga"},
                                             {'^', "\\(ha"},
                                             {'~', "\\(ti"},
                                             {'"', "\\(dq"}}};

std::string heading(std::string_view page) {
  std::string upper(page);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"detol {}\" \"detol's manual\"\n", roff_text(upper),
                     roff_text(DETOL_VERSION));
}

std::string name_section(std::string_view page, std::string_view summary) {
  return fmt::format(".SH NAME\n{} \\- {}\n", roff_text(page), roff_text(summary));
}

// Returns the text line by line as it is, as examples are.
std::string as_written(std::string_view text) {
  return fmt::format(".nf\n{}\n.fi\n", roff_text(text));
}

// Returns "\fB-j\fR, \fB--workers\fR \fIN|auto\fR"; of a positional argument its name.
std::string term_of(const Option& option) {
  std::string term;
  if (option.is_positional()) {
    term = fmt::format("\\fI{}\\fR", roff_text(option.name));
  } else {
    const std::size_t comma = option.name.find(',');
    if (comma != std::string_view::npos)
      term = fmt::format("\\fB{}\\fR, ", roff_text(option.name.substr(0, comma)));
    term += fmt::format("\\fB{}\\fR", roff_text(option.name.substr(option.name.find("--"))));
  }
  return option.value.empty() ? term : fmt::format("{} \\fI{}\\fR", term, roff_text(option.value));
}

std::string options_section(std::string_view title, std::span<const Option> options) {
  if (options.empty()) return "";
  std::string text = fmt::format(".SH {}\n", title);
  for (const Option& option : options) {
    text += fmt::format(".TP\n{}\n{}", term_of(option), roff_text(option.help));
    if (!option.words.empty())
      text += "; " + roff_text(fmt::format("{}", fmt::join(option.words, ", ")));
    if (option.arity == Option::kRequired) text += "; required";
    if (option.arity == Option::kRepeated) text += "; may be given several times";
    text += "\n";
  }
  return text;
}

// Returns "detol search [OPTIONS] STUDY".
std::string synopsis_of(const Command& command) {
  std::string text =
      fmt::format(".SH SYNOPSIS\n\\fBdetol {}\\fR [OPTIONS]", roff_text(command.name));
  for (const Option& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string_view repeated = option.arity == Option::kRepeated ? "..." : "";
    const bool is_optional = option.arity == Option::kOptional;
    text += fmt::format(" {}\\fI{}\\fR{}{}", is_optional ? "[" : "", roff_text(option.name),
                        repeated, is_optional ? "]" : "");
  }
  return text + "\n";
}

std::string commands_section(std::span<const Command> commands) {
  std::string text = ".SH COMMANDS\n";
  for (const Command& command : commands)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fB{}\\fR(1)\n", roff_text(command.name),
                        roff_text(command.summary), roff_text(page_name(command)));
  return text;
}

std::string exit_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : kExitCodes)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", row.code, roff_text(row.meaning));
  return text;
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  bool at_line_begin = true;
  for (const char c : text) {
    if (at_line_begin && (c == '.' || c == '\'')) out += "\\&";
    at_line_begin = c == '\n';
    const auto escape = std::ranges::find(kEscapes, c, &Escape::letter);
    if (escape != kEscapes.end())
      out += escape->text;
    else
      out += c;
  }
  return out;
}

std::string page_name(const Command& command) {
  std::string name = fmt::format("detol-{}", command.name);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string manual_page(const CommandTable& table) {
  return heading("detol") +
         name_section("detol", "finds neural networks and hyperparameters automatically") +
         ".SH SYNOPSIS\n\\fBdetol\\fR \\fICOMMAND\\fR [OPTIONS]\n"
         ".SH DESCRIPTION\nStandard output is data only; progress, hints and errors go to standard "
         "error.\n" +
         commands_section(table.commands) + options_section("GLOBAL OPTIONS", table.globals) +
         exit_section();
}

std::string manual_page(const Command& command) {
  std::string text = heading(page_name(command)) +
                     name_section(page_name(command), command.summary) + synopsis_of(command) +
                     options_section("OPTIONS", command.options);
  if (command.notes != nullptr) text += ".SH NOTES\n" + as_written(command.notes());
  if (!command.examples.empty()) text += ".SH EXAMPLES\n" + as_written(command.examples);
  return text + ".SH SEE ALSO\n\\fBdetol\\fR(1) for global options and exit codes\n";
}

}  // namespace detol::inline command_line
