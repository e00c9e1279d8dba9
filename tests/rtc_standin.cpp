// A stand-in for libacl_rtc.so: the object tells the options and the text it was made of. A text
// with "#error" in it is refused with a log, one with "#status N" by status N without a log.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {
struct Program {
    std::string text, name, log, binary;
};
int live = 0;
}  // namespace

extern "C" {
int aclrtcCreateProg(void** program, const char* text, const char* name, int headers, const char**, const char**)
{
    if (program == nullptr || text == nullptr || headers != 0) return 176001;
    *program = new Program{text, name, "", ""};
    ++live;
    return 0;
}
int aclrtcCompileProg(void* handle, int count, const char** options)
{
    auto* program = static_cast<Program*>(handle);
    if (program->text.find("#status ") != std::string::npos) {
        return std::atoi(program->text.c_str() + program->text.find("#status ") + 8);
    }
    if (program->text.find("#error") != std::string::npos) {
        size_t at = program->text.find("#error");
        int line = 1;
        for (size_t i = 0; i < at; ++i) line += program->text[i] == '\n';
        program->log = program->name + ":" + std::to_string(line) + ":2: error: refused\n";
        return 176003;
    }
    program->log = "a warning nobody reads";
    for (int i = 0; i < count; ++i) program->binary += std::string(options[i]) + "\n";
    program->binary += std::string("\0", 1) + program->text;
    return 0;
}
int aclrtcGetCompileLogSize(void* handle, size_t* size)
{
    auto* program = static_cast<Program*>(handle);
    *size = program->log.empty() ? 0 : program->log.size() + 1;
    return 0;
}
int aclrtcGetCompileLog(void* handle, char* log)
{
    std::strcpy(log, static_cast<Program*>(handle)->log.c_str());
    return 0;
}
int aclrtcGetBinDataSize(void* handle, size_t* size)
{
    *size = static_cast<Program*>(handle)->binary.size();
    return 0;
}
int aclrtcGetBinData(void* handle, char* data)
{
    auto& binary = static_cast<Program*>(handle)->binary;
    std::memcpy(data, binary.data(), binary.size());
    return 0;
}
int aclrtcDestroyProg(void** handle)
{
    delete static_cast<Program*>(*handle);
    *handle = nullptr;
    --live;
    return 0;
}
int standin_live() { return live; }
}
