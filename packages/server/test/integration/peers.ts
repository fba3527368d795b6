/** Two managers that find each other: each on a loopback address of its own, both on one port, as managers do. */
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Client, createClient } from '@hyperplane/client'
import type { Config } from '../../src/config/config.ts'
import { type Victim, Victims } from '../restart/victims.ts'
import { adminPassword, beginning, startApp } from '../support/start-app.ts'

export const hosts = { near: '127.0.0.2', far: '127.0.0.3' } as const
export type Side = keyof typeof hosts

/** A port that is free on both addresses. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '0.0.0.0')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export const configOf = (side: Side, port: number, more: Partial<Config> = {}): Partial<Config> => ({
  host: hosts[side],
  port,
  http: false,
  allowAddress: ['127.0.0.0/8'],
  // Two that were made from the same seed would be the same manager.
  seed: side === 'near' ? 'demo' : 'empty',
  ...more,
})

export interface Running extends Pick<Victim, 'dead' | 'endAt'> {
  readonly folder: string
  readonly client: Client
  end(): Promise<void>
}

/** Processes on copies of folders that were seeded once. */
export class Peers {
  readonly port: number
  readonly #parent: string
  readonly #victims = new Victims()
  readonly #running = new Set<Running>()

  constructor(parent: string, port: number) {
    this.#parent = parent
    this.port = port
  }

  /** Makes the worlds that `folder` copies. */
  async seed(): Promise<void> {
    for (const side of ['near', 'far'] as const) {
      const app = await startApp({ folder: join(this.#parent, side), config: configOf(side, this.port) })
      await app.close()
    }
  }

  folder(side: Side): string {
    const copy = mkdtempSync(join(this.#parent, `${side}-`))
    cpSync(join(this.#parent, side), copy, { recursive: true })
    return copy
  }

  async start(
    side: Side,
    order: {
      readonly folder?: string
      readonly config?: Partial<Config>
      readonly version?: string
      readonly startAt?: number
    } = {},
  ): Promise<Running> {
    const { folder = this.folder(side), config = {}, ...rest } = order
    const victim = await this.#victims.start({
      startAt: beginning,
      ...rest,
      folder,
      config: configOf(side, this.port, config),
    })
    const running: Running = {
      folder,
      client: clientOf(hosts[side], this.port),
      dead: victim.dead,
      endAt: victim.endAt,
      end: async () => {
        victim.kill()
        await victim.dead
        this.#running.delete(running)
      },
    }
    this.#running.add(running)
    return running
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.end()))
  }

  async close(): Promise<void> {
    await this.endAll()
    await this.#victims.end()
  }
}

/** A client that looks at no certificate: it is on this machine. */
export const clientOf = (host: string, port: number): Client =>
  createClient({
    url: `https://${host}:${port}`,
    username: 'admin',
    password: adminPassword,
    pollMilliseconds: 20,
    fetch: (url, { method, headers, body }) =>
      new Promise((resolve, reject) => {
        const sent = request(url, { method, headers, rejectUnauthorized: false, agent: false }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk) => chunks.push(chunk))
          answer.on('error', reject)
          answer.on('end', () => {
            const one = (name: string) => answer.headers[name.toLowerCase()]
            resolve({
              status: answer.statusCode ?? 0,
              headers: { get: (name) => (one(name) === undefined ? null : String(one(name))) },
              text: async () => Buffer.concat(chunks).toString(),
            })
          })
        })
        sent.on('error', reject)
        sent.end(body)
      }),
  })

/** The manager that a client's server is. */
export async function ownOf(client: Client): Promise<{ extId: string; name: string }> {
  const [own] = (await client.platform.listDomainManagers()).data
  return { extId: own!.extId, name: own!.config.name }
}

/** Asks to register the manager at `host`. @returns the task's id */
export async function register(
  client: Client,
  host: string,
  { password = adminPassword, requestId = randomUUID() } = {},
): Promise<string> {
  const { extId } = await ownOf(client)
  const { etag = '' } = await client.platform.getDomainManagerById({ path: { extId } })
  const remoteCluster = {
    address: { ipv4: { value: host } },
    credentials: { authentication: { username: 'admin', password } },
  }
  const $objectType = 'platform.v4.management.DomainManagerRemoteClusterSpec'
  const body: any = { remoteCluster: { $objectType, remoteCluster, cloudType: 'ONPREM_CLOUD' } }
  return (await client.platform.register({ path: { extId }, body, ifMatch: etag, requestId })).data.extId as string
}

export async function unregister(client: Client, remoteExtId: string, requestId = randomUUID()): Promise<string> {
  const { extId } = await ownOf(client)
  const { etag = '' } = await client.platform.getDomainManagerById({ path: { extId } })
  const body = { extId: remoteExtId }
  return (await client.platform.unregister({ path: { extId }, body, ifMatch: etag, requestId })).data.extId as string
}

/** The task when it has ended. */
export async function ended(client: Client, extId: string): Promise<any> {
  for (;;) {
    const { data } = await client.platform.getTaskById({ path: { extId } })
    if (['SUCCEEDED', 'FAILED', 'CANCELED'].includes(data.status ?? '')) return data
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Nothing runs or waits. */
export async function idle(client: Client): Promise<void> {
  const filter = "status in ('QUEUED','RUNNING','CANCELING')"
  while (((await client.platform.listTasks({ filter })).total ?? 0) > 0) await new Promise((go) => setTimeout(go, 20))
}

/** Names of the registered managers, of those among the managers, and of the accounts of such. */
export async function tracesOf(
  client: Client,
): Promise<{ registered: string[]; managers: string[]; accounts: string[] }> {
  const { extId } = await ownOf(client)
  const registrations = (await client.platform.listRegistrations({ path: { domainManagerExtId: extId } })).data
  const registered = registrations
    .filter(({ remoteClusterDetails: details }) => details?.clusterType === 'DOMAIN_MANAGER')
    .map(({ remoteClusterDetails: details }) => details?.name ?? '')
    .filter((name) => name !== 'dr-site')
  const managers = (await client.platform.listDomainManagers()).data.slice(1).map(({ config }) => config.name)
  const filter = "startswith(username,'manager-')"
  const accounts = (await client.iam.listUsers({ filter })).data.map(({ username }) => username)
  return { registered, managers: managers.filter((name) => name !== 'dr-site'), accounts }
}
