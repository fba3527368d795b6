// Imported before everything else. Plain JavaScript without newer syntax, so that an old Node can run it far enough to say
// what is missing. 24.7 is the first with crypto.argon2.
import { existsSync } from 'node:fs'
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(
    `Hyperplane needs Node 24.7 or newer and this is ${process.versions.node}: run "npm ci" and then "npm start", ` +
      'which bring a fitting Node on Linux and on Windows (x64), or install Node 24 from https://nodejs.org.\n',
  )
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
