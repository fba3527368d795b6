/** What stands beside /api: health, metrics, documents. No credentials; no names, ids or user data. */
import type { IncomingMessage } from 'node:http'
import type { Namespace } from '@hyperplane/contract'
import { openApiOf } from '@hyperplane/contract/openapi'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { browsePage } from './docs-page.ts'
import type { PageAnswer } from './server.ts'

export interface Pages {
  /** undefined: there is no such page. */
  answer(path: string, request: IncomingMessage, origin: string): Promise<PageAnswer | undefined>
  /** Counts one answered request; `operation` is a key of the contract. */
  observe(operation: string, status: number, seconds: number): void
  /** Gives up what measures in the background. */
  close(): void
}

export interface PagesOptions {
  readonly contract: readonly Namespace[]
  /** In words without names; undefined: it is ready. */
  readonly whyNotReady: () => Promise<string | undefined>
  readonly version: string
  readonly runningTasks: () => number
  /** JSON documents beside those of the interface, by path. */
  readonly documents: Readonly<Record<string, () => unknown>>
}

/** The paths of the control interface begin with its name already. */
const basePathOf = ({ name }: Namespace): string => (name === 'control' ? '' : '/api')

export function createPages(options: PagesOptions): Pages {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'hyperplane_' })
  // Counted here, and handed over when somebody looks: a label costs more than everything else that is measured.
  const answered = new Map<string, { operation: string; status: number; count: number }>()
  new Counter({
    name: 'hyperplane_requests_total',
    help: 'Answered requests by operation and status.',
    labelNames: ['operation', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { operation, status, count } of answered.values()) this.inc({ operation, status }, count)
    },
  })
  const seconds = new Histogram({
    name: 'hyperplane_request_seconds',
    help: 'Time from the head of a request to its answer.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  })
  new Gauge({
    name: 'hyperplane_tasks_running',
    help: 'Tasks that run or wait.',
    registers: [registry],
    collect() {
      this.set(options.runningTasks())
    },
  })

  const documents = new Map<string, Namespace>()
  for (const namespace of options.contract) {
    for (const version of namespace.versions) documents.set(`/openapi/${namespace.name}/${version}.json`, namespace)
  }
  const index = {
    service: 'Hyperplane',
    version: options.version,
    documents: [...documents].map(([url, namespace]) => ({
      namespace: namespace.name,
      version: url.split('/')[3]?.replace('.json', ''),
      url,
    })),
  }
  const text = (status: number, body: string, contentType = 'text/plain; charset=utf-8'): PageAnswer => ({
    status,
    contentType,
    body,
  })
  const json = (value: unknown): PageAnswer => text(200, `${JSON.stringify(value)}\n`, 'application/json')

  return {
    async answer(path, request, origin) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
      if (path === '/health/live') return text(200, 'live\n')
      if (path === '/health/ready') {
        const fault = await options.whyNotReady()
        return fault === undefined ? text(200, 'ready\n') : text(503, `not ready: ${fault}\n`)
      }
      if (path === '/metrics') return text(200, await registry.metrics(), registry.contentType)
      if (path === '/openapi.json') return json(index)
      const namespace = documents.get(path)
      if (namespace !== undefined)
        return json(
          openApiOf(namespace, path.split('/')[3]?.replace('.json', '') as string, origin + basePathOf(namespace)),
        )
      const document = Object.hasOwn(options.documents, path) ? options.documents[path] : undefined
      if (document !== undefined) return json(document())
      if (path === '/docs' || path === '/docs/')
        return text(200, browsePage(options.contract), 'text/html; charset=utf-8')
      return undefined
    },
    observe(operation, status, duration) {
      const key = `${operation} ${status}`
      const known = answered.get(key)
      if (known === undefined) answered.set(key, { operation, status, count: 1 })
      else known.count++
      seconds.observe(duration)
    },
    close: () => registry.clear(),
  }
}
