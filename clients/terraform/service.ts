/** The service as a process of its own over HTTPS, and its interface as the test reads it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))
export const password = 'Terraform.Passw0rd!'

export interface Service {
  readonly port: string
  call(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly json: any }>
  stop(): Promise<void>
}

export async function startService(): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-terraform-'))
  const data = join(folder, 'world')
  const child: ChildProcess = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, '--port', '0', '--data', data, '--seed', 'demo'],
    { env: { ...process.env, HYPERPLANE_ADMIN_PASSWORD: password }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('The service ended before it was ready.')))
  ended.catch(() => undefined)
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const url = /^Ready in .*: https:\/\/[^:]+:(\d+)\/api$/.exec(line)
      if (url !== null) resolve(url[1]!)
    })
  })
  const port = await Promise.race([ready, ended])
  const ca = readFileSync(join(data, 'tls', 'cert.pem'))
  return {
    port,
    call: async (method, path, body) => {
      for (;;) {
        const answer = await send({ host: 'localhost', port, ca, method, path }, body)
        if (answer.status !== 429) return answer
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    },
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function send(options: object, body?: object): Promise<{ status: number; json: any }> {
  const headers = { 'Content-Type': 'application/json' }
  const sent = request({ ...options, auth: `admin:${password}`, headers })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return { status: answer.statusCode, json: text === '' ? undefined : JSON.parse(text) }
}

/** Tasks and batches stay, and the interface has no operation that deletes a user: the provider only forgets it. */
const staying = /\/(tasks|batches|restore-points|audits|authn\/users)$/

/** `path extId` of everything that some list of the interface shows. */
export async function inventoryOf({ call }: Service): Promise<string[]> {
  const { documents } = (await call('GET', '/openapi.json')).json
  const found: string[] = []
  for (const { url } of documents) {
    const { paths } = (await call('GET', url)).json
    for (const [path, item] of Object.entries<any>(paths)) {
      if (item.get === undefined || path.includes('{') || staying.test(path)) continue
      for (const extId of await idsIn(call, path.startsWith('/api') ? path : `/api${path}`))
        found.push(`${path} ${extId}`)
    }
  }
  return found.sort()
}

async function idsIn(call: Service['call'], path: string): Promise<string[]> {
  const ids: string[] = []
  for (let page = 0; ; page++) {
    const { status, json } = await call('GET', `${path}?$page=${page}&$limit=100`)
    const items = status === 200 && Array.isArray(json?.data) ? json.data : []
    ids.push(...items.flatMap(({ extId }: any) => extId ?? []))
    if (items.length < 100) return ids
  }
}
