/** Not a static import: that evaluates lazy re-exports which load the client behind `fetch`, 50 ms at each start. */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
