/** Builders for tests of policies on images and templates. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { completed } from '../restart/asked.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const images = '/vmm/v4.2/content/images'
export const placementPolicies = '/vmm/v4.2/images/config/placement-policies'
export const rateLimitPolicies = '/vmm/v4.2/images/config/rate-limit-policies'
export const effectiveRateLimits = '/vmm/v4.2/images/config/effective-rate-limit-policies'
export const templatePlacementPolicies = '/vmm/v4.2/config/template-placement-policies'

export const anyOf = (...categoryExtIds: readonly string[]) => ({ type: 'CATEGORIES_MATCH_ANY', categoryExtIds })
export const allOf = (...categoryExtIds: readonly string[]) => ({ type: 'CATEGORIES_MATCH_ALL', categoryExtIds })

export const imageBody = (name: string) => ({
  name,
  type: 'ISO_IMAGE',
  source: { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/${name}.iso` },
})
export const rateLimitBody = (clusterCategory: string) => ({
  name: `limit-${randomUUID().slice(0, 8)}`,
  rateLimitKbps: 10_000,
  clusterEntityFilter: anyOf(clusterCategory),
})
export const placementBody = (imageCategory: string, clusterCategory: string) => ({
  name: `placement-${randomUUID().slice(0, 8)}`,
  placementType: 'HARD',
  imageEntityFilter: anyOf(imageCategory),
  clusterEntityFilter: anyOf(clusterCategory),
})
export const templatePlacementBody = (templateCategory: string, clusterCategory: string) => ({
  name: `templates-${randomUUID().slice(0, 8)}`,
  contentFilter: anyOf(templateCategory),
  clusterFilter: anyOf(clusterCategory),
})

export const post = (app: TestApp, path: string, body: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', path, { body, requestId: randomUUID(), ...options })

/** The id of an entity that exists. */
export const made = (app: TestApp, path: string, body: object): Promise<string> =>
  completed(app, 'POST', path, { body })

/** Sends a PUT with these changes, or a POST to an action, with the current tag. */
export async function changeOf(
  app: TestApp,
  path: string,
  what: object | 'suspend' | 'resume',
  options: CallOptions = {},
): Promise<CallResult> {
  const { data, etag } = await app.call('GET', path)
  const sent = { requestId: randomUUID(), ifMatch: etag as string, ...options }
  if (what === 'suspend') return app.call('POST', `${path}/$actions/suspend`, { body: {}, ...sent })
  if (what === 'resume') return app.call('POST', `${path}/$actions/resume`, sent)
  return app.call('PUT', path, { ...sent, body: { ...data, ...what } })
}

export async function succeeds(app: TestApp, started: CallResult): Promise<any> {
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}

export const locationsOf = async (app: TestApp, image: string): Promise<readonly string[]> =>
  (await app.call('GET', `${images}/${image}`)).data.clusterLocationExtIds

/** The clusters whose storage has a file of the image. */
export const filesOf = (app: TestApp, image: string): string[] =>
  [...app.world.collection('content.files').all().keys()].flatMap((key) => {
    const [extId, cluster] = key.split('/')
    return extId === image ? [cluster as string] : []
  })
