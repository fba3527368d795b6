/** The whole interface as data. Everything else (routes, validators, tables, documents, clients) derives from it. */
export * from './operation.ts'
export * from './roles.ts'
export * from './schema.ts'
