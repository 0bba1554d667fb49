/* Prints what src/capture/python/pylayout.def says of the interpreter whose
 * headers this is compiled with. */
#define Py_BUILD_CORE
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif

#define TELL(name, value) printf(#name " %zu\n", (size_t)(value))
#define NONE              0xffff

int main(void)
{
    TELL(runtime_head, offsetof(_PyRuntimeState, interpreters.head));
    TELL(runtime_main, offsetof(_PyRuntimeState, main_thread));
    TELL(interp_next, offsetof(PyInterpreterState, next));
#if PY_VERSION_HEX >= 0x030b0000
    TELL(interp_threads, offsetof(PyInterpreterState, threads.head));
#else
    TELL(interp_threads, offsetof(PyInterpreterState, tstate_head));
#endif
    TELL(thread_next, offsetof(PyThreadState, next));
    TELL(thread_interp, offsetof(PyThreadState, interp));
    TELL(thread_ident, offsetof(PyThreadState, thread_id));
#if PY_VERSION_HEX >= 0x030b0000
    TELL(thread_native, offsetof(PyThreadState, native_thread_id));
#else
    TELL(thread_native, NONE);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    TELL(thread_frame, offsetof(PyThreadState, current_frame));
    TELL(cframe_frame, NONE);
#elif PY_VERSION_HEX >= 0x030b0000
    TELL(thread_frame, offsetof(PyThreadState, cframe));
    TELL(cframe_frame, offsetof(_PyCFrame, current_frame));
#else
    TELL(thread_frame, offsetof(PyThreadState, frame));
    TELL(cframe_frame, NONE);
#endif
#if PY_VERSION_HEX >= 0x030b0000
    TELL(frame_size, offsetof(_PyInterpreterFrame, localsplus));
    TELL(frame_previous, offsetof(_PyInterpreterFrame, previous));
    TELL(frame_owner, offsetof(_PyInterpreterFrame, owner));
#else
    TELL(frame_size, offsetof(PyFrameObject, f_blockstack));
    TELL(frame_previous, offsetof(PyFrameObject, f_back));
    TELL(frame_owner, NONE);
#endif
#if PY_VERSION_HEX >= 0x030d0000
    TELL(frame_code, offsetof(_PyInterpreterFrame, f_executable));
    TELL(frame_at, offsetof(_PyInterpreterFrame, instr_ptr));
#elif PY_VERSION_HEX >= 0x030b0000
    TELL(frame_code, offsetof(_PyInterpreterFrame, f_code));
    TELL(frame_at, offsetof(_PyInterpreterFrame, prev_instr));
#else
    TELL(frame_code, offsetof(PyFrameObject, f_code));
    TELL(frame_at, offsetof(PyFrameObject, f_lasti));
#endif
    TELL(object_size, sizeof(PyObject));
    TELL(object_type, offsetof(PyObject, ob_type));
    TELL(code_file, offsetof(PyCodeObject, co_filename));
    TELL(code_first, offsetof(PyCodeObject, co_firstlineno));
#if PY_VERSION_HEX >= 0x030b0000
    TELL(code_name, offsetof(PyCodeObject, co_qualname));
    TELL(code_lines, offsetof(PyCodeObject, co_linetable));
    TELL(code_bytes, offsetof(PyCodeObject, co_code_adaptive));
#else
    TELL(code_name, offsetof(PyCodeObject, co_name));
#if PY_VERSION_HEX >= 0x030a0000
    TELL(code_lines, offsetof(PyCodeObject, co_linetable));
#else
    TELL(code_lines, offsetof(PyCodeObject, co_lnotab));
#endif
    TELL(code_bytes, NONE);
#endif
    TELL(bytes_size, offsetof(PyBytesObject, ob_base.ob_size));
    TELL(bytes_data, offsetof(PyBytesObject, ob_sval));
    TELL(text_length, offsetof(PyASCIIObject, length));
    TELL(text_state, offsetof(PyASCIIObject, state));
    TELL(text_ascii, sizeof(PyASCIIObject));
    TELL(text_other, sizeof(PyCompactUnicodeObject));
    return 0;
}
