// Imported before everything else, by any Node.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { nodeFault } from './node-requirement.js'

const fault = nodeFault()
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`)
  process.exit(1)
}

// Compiled sources of an earlier start are cached in the data folder. With the cache enabled this early, the type stripper
// (25 MiB) is never loaded. The folder is a guess at what config.ts will read; main.ts enables the cache of the right one.
const position = process.argv.lastIndexOf('--data')
const joined = process.argv.filter((argument) => argument.startsWith('--data=')).pop()
const data =
  position > 0 ? process.argv[position + 1] : joined !== undefined ? joined.slice(7) : process.env['HYPERPLANE_DATA']
const cache = (data || './data') + '/cache'
if (existsSync(cache)) module.enableCompileCache(cache)
