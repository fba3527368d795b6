/**
 * `node:http`, without an import of it: that reads every name which the module has, and the names that it only passes on
 * load the client behind `fetch`, which takes some 50 ms of each start. Types are imported as ever.
 */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
