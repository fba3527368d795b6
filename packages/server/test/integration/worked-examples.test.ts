/** The worked examples in Python and curl, against a service that was started as their page says. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

const root = resolve(import.meta.dirname, '../../../..')
const folder = join(root, 'docs/how-to/examples')
const password = 'Test.Passw0rd'
const run = promisify(execFile)

let data: string
let end: () => void
let url: string
before(async () => {
  data = mkdtempSync(join(tmpdir(), 'hyperplane-examples-'))
  const argv = ['start', '--silent', '--', '--http', '--port', '0', '--data', data]
  const service = spawn('npm', argv, {
    cwd: root,
    // A group of its own: npm does not pass a signal on to what its shell started.
    detached: true,
    env: { ...environment(), HYPERPLANE_ADMIN_PASSWORD: password },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  end = () => process.kill(-(service.pid as number), 'SIGKILL')
  const errors = text(service.stderr)
  for await (const line of createInterface({ input: service.stdout })) {
    const ready = /^Ready in .*: (http:.*)\/api$/.exec(line)?.[1]
    if (ready !== undefined) {
      url = ready
      return
    }
  }
  assert.fail(`the service did not start: ${await errors}`)
})
after(() => {
  end()
  rmSync(data, { recursive: true, force: true, maxRetries: 5 })
})

/** Without what could be a setting of the service. */
function environment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HYPERPLANE_')))
}

/** @throws when the example exits with anything but 0 */
const runExample = (interpreter: string, name: string, cwd = folder): Promise<unknown> =>
  run(interpreter, [name], {
    cwd,
    env: { ...environment(), API_URL: url, HYPERPLANE_ADMIN_PASSWORD: password, PYTHONDONTWRITEBYTECODE: '1' },
  })

async function worldNames(): Promise<readonly string[]> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const answer = await fetch(`${url}/control/v1/worlds`, { headers: { authorization } })
  const { data } = (await answer.json()) as { data: readonly { name: string }[] }
  return data.map(({ name }) => name)
}

const stems = ['flaky-task', 'host-failure', 'ninety-days-later', 'rate-limit', 'stale-tag']
/** Only for the shell. */
const exercises = [
  'practise-host-failure',
  'practise-maintenance',
  'practise-restore',
  'practise-roll-out',
  'service-a-cluster',
  'two-tier-vpc',
]

for (const [suffix, interpreter] of [
  ['py', 'python3'],
  ['sh', 'bash'],
] as const) {
  for (const stem of [...stems, ...(suffix === 'sh' ? exercises : [])]) {
    test(`${stem}.${suffix} runs as documented, and leaves no world behind`, async () => {
      await runExample(interpreter, `${stem}.${suffix}`)
      assert.deepEqual(await worldNames(), ['default'])
    })
  }

  test(`an example for ${interpreter} fails when the world behaves differently`, async () => {
    const copy = join(data, suffix)
    cpSync(folder, copy, { recursive: true })
    const example = join(copy, `host-failure.${suffix}`)
    // The host is back before anybody noticed.
    writeFileSync(example, readFileSync(example, 'utf8').replace('PT10M', 'PT5S'))
    await assert.rejects(runExample(interpreter, `host-failure.${suffix}`, copy))
    assert.deepEqual(await worldNames(), ['default'])
  })
}
