/**
 * The packages as npm publishes them, in a project outside the checkout: they compile under the strictest flags and run.
 * Needs the registry of npm.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { pack } from '../../../../tools/pack.ts'

/** The newest of their kind when this was written. */
const compilers = ['typescript@7.0.2', '@types/node@26.6.6']

/** Without what the test runner says to its own processes. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE, NODE_OPTIONS, NODE_TEST_CONTEXT, PATH = '', ...others } = process.env
  // First of all this Node: `hyperplane` takes the one that it finds.
  return { ...others, PATH: [dirname(process.execPath), PATH].join(delimiter) }
}

/** Answers what a program of the project printed. @throws what it printed, when it failed */
async function run(file: string, argv: readonly string[], extra: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: project, env: { ...environment(), ...extra }, timeout: 90_000 }
  const { stdout } = await promisify(execFile)(file, [...argv], options).catch((error) => {
    throw new Error(`${file} ${argv.join(' ')}: ${error.message}\n${error.stdout}\n${error.stderr}`)
  })
  return stdout
}

let parent: string
let project: string
before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-installed-'))
  project = join(parent, 'project')
  cpSync(join(import.meta.dirname, 'typescript-project'), project, { recursive: true })
  writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }\n')
  const archives = pack(join(parent, 'archives'))
  await run('npm', ['install', '--no-audit', '--no-fund', '--save-exact', ...archives, ...compilers])
})
after(() => rmSync(parent, { recursive: true, force: true }))

const installed = (...path: string[]): string => join(project, 'node_modules', ...path)
const tsc = (...argv: string[]): Promise<string> => run(installed('.bin/tsc'), ['--project', project, ...argv])

describe('a TypeScript project with the strictest flags', () => {
  test('compiles, and its tests pass', async () => {
    await tsc()
    const printed = await run(process.execPath, ['--test', '--test-reporter=tap', 'compiled/project.test.js'])
    assert.match(printed, /^# pass 2$/m)
    assert.match(printed, /^# fail 0$/m)
  })

  test('compiles with the module resolution of bundlers', async () => {
    await tsc('--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler')
  })

  test('is checked against the declarations of few modules of the server', () => {
    const declarations = globSync('**/*.d.ts', { cwd: installed('@hyperplane/server') }).sort()
    assert.deepEqual(declarations, ['lib/core/start-refusal.d.ts', 'lib/embedding/types.d.ts', 'lib/index.d.ts'])
  })
})

describe('the command hyperplane', () => {
  const tooOld = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})`

  test('prints its version and its options under its own name', async () => {
    const manifest = JSON.parse(readFileSync(installed('@hyperplane/server/package.json'), 'utf8'))
    assert.equal(await run(installed('.bin/hyperplane'), ['--version']), `${manifest.version}\n`)
    assert.match(await run(installed('.bin/hyperplane'), ['--help']), /Usage: hyperplane \[options\]/)
    await assert.rejects(
      run(installed('.bin/hyperplane'), ['rotate-key']),
      /Expected: hyperplane rotate-key --data DIR/,
    )
  })

  test('serves until SIGTERM; a second start has the data of the first', async () => {
    const data = join(parent, 'data')
    for (const _ of ['first', 'second']) {
      const argv = ['--port', '0', '--http', '--data', data, '--seed', 'lab']
      const password = { HYPERPLANE_ADMIN_PASSWORD: 'Installed.Passw0rd!' }
      const service = spawn(installed('.bin/hyperplane'), argv, {
        cwd: project,
        env: { ...environment(), ...password },
      })
      try {
        const answer = await fetch(`${await originOf(service)}/health/ready`)
        assert.equal(answer.status, 200)
      } finally {
        service.kill('SIGTERM')
        if (service.exitCode === null) await once(service, 'exit')
      }
      assert.equal(service.exitCode, 0)
    }
  })

  test('says in one line what to install when the only Node is too old', async () => {
    const old = { NODE_OPTIONS: `--import="${tooOld}"` }
    const refused =
      /Hyperplane needs Node 24\.7 or newer and this is 20\.20\.2: add one to your project with "npm install/
    await assert.rejects(run(installed('.bin/hyperplane'), ['--version'], old), refused)
    const embedded = `import { startHyperplane } from '@hyperplane/server'; await startHyperplane()`
    await assert.rejects(run(process.execPath, ['--input-type=module', '--eval', embedded], old), refused)
  })
})

describe('each package', () => {
  for (const name of ['contract', 'client', 'server']) {
    test(`${name}: names exact versions, a licence and its files, and leaves sources and tests out`, () => {
      const folder = installed('@hyperplane', name)
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      assert.equal(manifest.license, 'Apache-2.0')
      assert.equal(manifest.devDependencies, undefined)
      for (const [dependency, version] of Object.entries<string>(manifest.dependencies ?? {}))
        assert.match(version, /^\d+\.\d+\.\d+$/, dependency)
      for (const file of ['LICENSE', 'README.md']) assert.ok(existsSync(join(folder, file)), file)
      const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
      const names = files.map((entry) => entry.name)
      assert.deepEqual(
        names.filter((file) => /(?<!\.d)\.ts$|\.test\./.test(file)),
        [],
      )
      const namesSource = (text: string): boolean => /(?:from|import\()\s*['"]\.[^'"]*\.ts['"]/.test(text)
      assert.deepEqual(
        files.filter((entry) => namesSource(readFileSync(join(entry.parentPath, entry.name), 'utf8'))),
        [],
      )
    })
  }

  test('server: every worker thread finds its source file', () => {
    const lib = installed('@hyperplane/server/lib')
    const programs = globSync('**/*.js', { cwd: lib }).flatMap((file) =>
      [
        ...readFileSync(join(lib, file), 'utf8').matchAll(/(?:threadProgram\(|new URL\(|program: )'([\w-]+)\.[jt]s'/g),
      ].map((match) => join(dirname(file), `${match[1]}.js`)),
    )
    assert.ok(programs.length >= 6, programs.join())
    assert.deepEqual(
      programs.filter((file) => !existsSync(join(lib, file))),
      [],
    )
  })
})

/** Origin of a service that is starting. @throws what it printed, when it ends instead */
async function originOf(service: ChildProcess): Promise<string> {
  const printed: string[] = []
  service.stderr?.on('data', (text) => printed.push(String(text)))
  for await (const line of createInterface({ input: service.stdout! })) {
    printed.push(line)
    const ready = /^Ready in .*: (http:\S+)\/api$/.exec(line)
    if (ready !== null) return ready[1] as string
  }
  throw new Error(`the service ended: ${printed.join('\n')}`)
}
