/**
 * Measures a service with one large cluster: its start, lists of hosts and disks, an expansion, and statistics.
 * Standalone: `node bench/clusters.ts [hosts]`.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from './load.ts'
import { call, start } from './service.ts'

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
}

/** Milliseconds of wall time. */
export interface ClusterTimes {
  /** To the first answer, not the first start. */
  readonly start: number
  /** Page of 50. */
  readonly hosts: Percentiles
  readonly disks: Percentiles
  /** `moreHosts` nodes join, with the task. */
  readonly expansion: number
  /** Statistics of the cluster for 24 h, median. */
  readonly whole: number
  /** The same of every host, one request each. */
  readonly each: number
  /** Resident bytes at the end. */
  readonly memory: number
}

export const disksOfHost = 12
export const moreHosts = 8
const config = '/api/clustermgmt/v4.2/config'
const [listed, runs] = [300, 9]

/** @param folder does not exist yet */
export async function measureClusters(folder: string, hosts: number): Promise<ClusterTimes> {
  mkdirSync(folder)
  const [data, seed] = [join(folder, 'data'), join(folder, 'seed.yaml')]
  writeFileSync(seed, seedOf(hosts))
  await (await start(data, seed)).stop()
  const service = await start(data, seed)
  const connection = await Connection.open(service.target)
  const get = (path: string): Promise<any> => call(connection, 'GET', path)
  try {
    const [cluster] = (await get(`${config}/clusters?$filter=name eq 'large'`.replaceAll(' ', '%20'))).data
    const lists = {
      hosts: await pages(connection, `${config}/hosts`, hosts),
      disks: await pages(connection, `${config}/disks`, hosts * disksOfHost),
    }
    const expansion = await timed(() => expand(connection, cluster.extId))
    const stats = `/api/clustermgmt/v4.2/stats/clusters/${cluster.extId}`
    const now = Date.now()
    const [from, to] = [now - 24 * 3600 * 1000, now].map((time) => new Date(time).toISOString())
    const times: number[] = []
    for (let run = 0; run < runs; run++)
      times.push(await timed(() => get(`${stats}?$startTime=${from}&$endTime=${to}`)))
    const { data: all } = await get(`${config}/hosts?$limit=100`)
    const each = await timed(async () => {
      for (const { extId } of all) await get(`${stats}/hosts/${extId}?$startTime=${from}&$endTime=${to}`)
    })
    const whole = percentiles(times).p50
    return { start: service.readyMilliseconds, ...lists, expansion, whole, each, memory: service.memory() }
  } finally {
    connection.close()
    await service.stop()
  }
}

function seedOf(hosts: number): string {
  const drives = '[{ tier: SSD_PCIE, count: 4 }, { tier: DAS_SATA, count: 8 }]'
  const nodes = Array.from(
    { length: moreHosts },
    (_, index) =>
      `  - { name: more-${index}, address: 10.9.1.${index}, cvmAddress: 10.9.2.${index}, drives: ${drives} }`,
  )
  const cluster = `  - { name: large, hosts: ${hosts}, hostDrives: ${drives} }`
  return ['extends: empty', 'clusters:', cluster, 'unconfiguredNodes:', ...nodes, ''].join('\n')
}

/** A change of the store comes before each read: otherwise the second one gets the answer of the first. */
async function pages(connection: Connection, path: string, count: number): Promise<Percentiles> {
  const times: number[] = []
  for (let turn = 0; turn < listed; turn++) {
    const body = { key: 'bench', value: randomUUID() }
    await call(connection, 'POST', '/api/platform/v4.3/config/categories', body)
    const page = turn % Math.ceil(count / 50)
    times.push(await timed(() => call(connection, 'GET', `${path}?$limit=50&$page=${page}`)))
  }
  // The first third warms up the code.
  return percentiles(times.slice(listed / 3))
}

async function expand(connection: Connection, clusterExtId: string): Promise<void> {
  const action = (name: string, body: object): Promise<any> =>
    call(connection, 'POST', `${config}/clusters/${clusterExtId}/$actions/${name}`, body, {
      'SVC-Request-Id': randomUUID(),
    })
  const found = await ended(connection, await action('discover-unconfigured-nodes', {}))
  const uuid = found.split(':').at(-1)
  const answer = await call(connection, 'GET', `${config}/task-response/${uuid}?taskResponseType=UNCONFIGURED_NODES`)
  const nodeList = answer.data.response.nodeList.map(({ nodeUuid }: any) => ({ nodeUuid }))
  await ended(connection, await action('expand-cluster', { nodeParams: { nodeList } }))
}

/** @returns the id of the task */
async function ended(connection: Connection, { data }: any): Promise<string> {
  for (;;) {
    const task = (await call(connection, 'GET', `/api/platform/v4.3/config/tasks/${data.extId}`)).data
    if (task.status === 'SUCCEEDED') return task.extId
    if (task.status !== 'QUEUED' && task.status !== 'RUNNING') throw new Error(JSON.stringify(task.errorMessages))
    await new Promise((next) => setTimeout(next, 5))
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] as number
  return { p50: at(0.5), p99: at(0.99) }
}

if (import.meta.main) {
  const work = mkdtempSync(join(tmpdir(), 'hyperplane-bench-clusters-'))
  try {
    console.log(await measureClusters(join(work, 'run'), Number(process.argv[2] ?? 64)))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
