/**
 * `node:http` without a static import: importing it evaluates lazy re-exports that load the client behind `fetch`,
 * which adds about 50 ms to each start. Types are imported as usual.
 */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
