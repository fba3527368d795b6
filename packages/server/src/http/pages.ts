/** What stands beside /api: health, metrics, documents. No credentials, no names, ids or user data. */
import type { IncomingMessage } from 'node:http'
import type { Namespace } from '@hyperplane/contract'
import type { PageAnswer } from './server.ts'

export interface Pages {
  answer(path: string, request: IncomingMessage): Promise<PageAnswer | undefined>
  observe(operation: string, status: number, seconds: number): void
}

export function createPages(options: { readonly contract: readonly Namespace[]; readonly isReady: () => boolean }): Pages {
  const text = (status: number, body: string): PageAnswer => ({ status, contentType: 'text/plain; charset=utf-8', body })
  return {
    async answer(path) {
      if (path === '/health/live') return text(200, 'live\n')
      if (path === '/health/ready') return options.isReady() ? text(200, 'ready\n') : text(503, 'stopping\n')
      return undefined
    },
    observe() {},
  }
}
