/** Requests by which suites that cover every kind reach batches. */

import { createdPath, named } from '../../support/field-bases.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { category } from './category.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.submitBatch': [
    async () => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'CREATE', name: named(), uri: '/api/platform/v4.3/config/categories' },
        payload: [{ data: category() }],
      },
    }),
    async (app) => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'DELETE', name: named(), uri: '/api/platform/v4.3/config/categories/{extId}' },
        payload: [
          {
            metadata: {
              headers: [{ name: 'If-Match', value: 'x' }],
              path: [
                {
                  name: 'extId',
                  value: (await createdPath(app, '/platform/v4.3/config/categories', category())).slice(-36),
                },
              ],
            },
          },
        ],
      },
    }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'platform.run-batch': async () => ({
    method: 'POST',
    path: '/platform/v4.3/operations/$actions/batch',
    body: {
      metadata: { action: 'CREATE', name: 'killed', uri: '/api/platform/v4.3/config/categories', chunkSize: 2 },
      payload: Array.from({ length: 5 }, (_, index) => ({ data: { key: 'killed', value: String(index) } })),
    },
  }),
}
