/** Pages without credentials: health, metrics, documents. They show no names, ids or user data. */
import type { IncomingMessage } from 'node:http'
import type { Namespace } from '@hyperplane/contract'
import { openApiOf } from '@hyperplane/contract/openapi'
import { browsePage } from './pages/docs-page.ts'
import { Metrics } from './pages/metrics.ts'

export interface PageAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Uint8Array
}

export interface Pages {
  answer(path: string, request: IncomingMessage, origin: string): Promise<PageAnswer | undefined>
  /** @param operation a key of the contract */
  observe(operation: string, status: number, seconds: number): void
  close(): void
}

export interface PagesOptions {
  readonly contract: readonly Namespace[]
  readonly whyNotReady: () => Promise<string | undefined>
  readonly version: string
  readonly runningTasks: () => number
  readonly documents: Readonly<Record<string, () => unknown>>
}

interface OpenApiDocument {
  readonly namespace: Namespace
  readonly version: string
}

export function createPages(options: PagesOptions): Pages {
  const metrics = new Metrics(options.runningTasks)
  const documents = openApiDocuments(options.contract)
  const index = {
    service: 'Hyperplane',
    version: options.version,
    documents: [...documents].map(([url, { namespace, version }]) => ({ namespace: namespace.name, version, url })),
  }
  return {
    async answer(path, request, origin) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
      if (path === '/health/live') return text(200, 'live\n')
      if (path === '/health/ready') {
        const fault = await options.whyNotReady()
        return fault === undefined ? text(200, 'ready\n') : text(503, `not ready: ${fault}\n`)
      }
      if (path === '/metrics') return text(200, await metrics.text(), metrics.contentType)
      if (path === '/openapi.json') return json(index)
      const openApi = documents.get(path)
      if (openApi !== undefined) {
        const { namespace, version } = openApi
        return json(openApiOf(namespace, version, origin + basePathOf(namespace)))
      }
      const document = Object.hasOwn(options.documents, path) ? options.documents[path] : undefined
      if (document !== undefined) return json(document())
      if (path === '/docs' || path === '/docs/')
        return text(200, browsePage(options.contract), 'text/html; charset=utf-8')
      return undefined
    },
    observe: (operation, status, seconds) => metrics.observe(operation, status, seconds),
    close: () => metrics.close(),
  }
}

function openApiDocuments(contract: readonly Namespace[]): ReadonlyMap<string, OpenApiDocument> {
  const documents = contract.flatMap((namespace) =>
    namespace.versions.map(
      (version) => [`/openapi/${namespace.name}/${version}.json`, { namespace, version }] as const,
    ),
  )
  return new Map(documents)
}

/** The control interface includes its prefix already. */
const basePathOf = ({ name }: Namespace): string => (name === 'control' ? '' : '/api')

const text = (status: number, body: string, contentType = 'text/plain; charset=utf-8'): PageAnswer => ({
  status,
  contentType,
  body,
})
const json = (value: unknown): PageAnswer => text(200, `${JSON.stringify(value)}\n`, 'application/json')
