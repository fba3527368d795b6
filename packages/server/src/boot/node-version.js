// Imported before everything else, by any Node.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { nodeFault } from './node-requirement.js'

const fault = nodeFault()
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`)
  process.exit(1)
}

// What an earlier start made of the sources is kept beside the data. Read from here on, it spares a later start the type
// stripper (25 MiB). The folder is guessed, as config.ts will read it; main.ts settles it, also for a first start.
const given = process.argv.lastIndexOf('--data')
const joined = process.argv.filter((argument) => argument.startsWith('--data=')).pop()
const data =
  given > 0 ? process.argv[given + 1] : joined !== undefined ? joined.slice(7) : process.env['HYPERPLANE_DATA']
const cache = (data || './data') + '/cache'
if (existsSync(cache)) module.enableCompileCache(cache)
