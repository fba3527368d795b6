/** Source: conventions 2.3. */

import type { Namespace, Operation } from '@hyperplane/contract'
import type { Reply } from '../../core/reply.ts'
import { pathIn } from '../profiles/names.ts'
import type { AnswerContext, Link } from './answer-context.ts'

type Namespaces = ReadonlyMap<string, Namespace>

export function linksOf(
  reply: Reply,
  operation: Operation,
  context: AnswerContext,
  namespaces: Namespaces,
): readonly Link[] {
  if (reply.status === 202 && reply.location !== undefined) {
    const self = { href: `${context.origin}${context.base}${pathIn(context.profile, reply.location)}`, rel: 'self' }
    const collection = collectionOf(operation, namespaces)
    if (collection === undefined) return [self]
    const path = pathIn(context.profile, `/${operation.namespace}/${reply.version}${collection}`)
    return [self, { href: `${context.origin}${context.base}${path}`, rel: 'collection' }]
  }
  if (reply.page === undefined || reply.total === undefined)
    return [{ href: hrefOf(context, context.query), rel: 'self' }]
  const { page, limit } = reply.page
  const last = limit === 0 ? 0 : Math.max(0, Math.ceil(reply.total / limit) - 1)
  const kept = context.query.split('&').filter((part) => part !== '' && !/^(?:\$|%24)(?:page|limit)(?:=|$)/i.test(part))
  const pageLink = (number: number): string =>
    hrefOf(context, [...kept, `$page=${number}`, `$limit=${limit}`].join('&'))
  const links = [
    { href: pageLink(page), rel: 'self' },
    { href: pageLink(0), rel: 'first' },
    { href: pageLink(last), rel: 'last' },
  ]
  if (page > 0 && page <= last + 1) links.push({ href: pageLink(page - 1), rel: 'prev' })
  if (page < last) links.push({ href: pageLink(page + 1), rel: 'next' })
  return links
}

export function hrefOf(context: AnswerContext, query = ''): string {
  const href = `${context.origin}${context.base}${pathIn(context.profile, context.path)}`
  return query === '' ? href : `${href}?${query}`
}

function collectionOf(operation: Operation, namespaces: Namespaces): string | undefined {
  const kind = operation.resource?.kind
  if (kind === undefined) return undefined
  const list = namespaces
    .get(operation.namespace)
    ?.operations.find((other) => other.verb === 'list' && other.resource?.kind === kind)
  return list === undefined || list.path.includes('{') ? undefined : list.path
}

/** An entity that has links already stays as it is. */
export type LinkSelf = (item: unknown, version: string | undefined, context: AnswerContext) => unknown

/** undefined: entities in this answer carry no link to themselves. */
export function selfLinks(operation: Operation, namespaces: Namespaces): LinkSelf | undefined {
  const { resource, answer } = operation
  // Statistics and the like are no entities of a kind: they lead to the request that reads them.
  if (operation.verb === 'read' && answer?.type === 'object' && answer !== resource?.schema)
    return answer.fields['links'] === undefined ? undefined : linkRequest
  if (resource === undefined || operation.runs === 'async' || resource.schema.fields['links'] === undefined)
    return undefined
  const getter = namespaces
    .get(operation.namespace)
    ?.operations.find((other) => other.verb === 'get' && other.resource === resource)
  if (getter === undefined) return undefined
  // Every second piece is the name of a path variable.
  const pieces = getter.path.split(/[{}]/)
  const parentParameter = resource.parent?.param
  const parentSteps = resource.parent?.field.split('/') ?? []
  // Entities of the control interface have no field with the name of their world, so the path cannot be filled in.
  const namesWorld = pieces.some((piece, index) => index % 2 === 1 && piece === 'worldName')
  if (namesWorld) return undefined
  const variables = pieces.filter((_, index) => index % 2 === 1)
  const template = `/${operation.namespace}/version${operation.path}`.split('/')
  return (item, version, { path }) => {
    if (!isObject(item) || typeof item['extId'] !== 'string' || item['links'] !== undefined) return item
    const segments = path.split('/')
    let href = `/${operation.namespace}/${version}${pieces[0]}`
    for (const [index, name] of variables.entries()) {
      const isOwn = index === variables.length - 1 && name !== parentParameter
      const stored = isOwn ? item['extId'] : name === parentParameter ? valueAt(item, parentSteps) : item[name]
      const value = stored ?? segments[template.indexOf(`{${name}}`)]
      // `$select` may leave out the parent.
      if (value === undefined) return item
      href += `${value}${pieces[2 * index + 2]}`
    }
    return { ...item, links: [{ href, rel: 'self' }] }
  }
}

const linkRequest: LinkSelf = (item, _, context) =>
  !isObject(item) || item['links'] !== undefined
    ? item
    : { ...item, links: [{ href: hrefOf(context, context.query), rel: 'self' }] }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const valueAt = (item: unknown, steps: readonly string[]): unknown =>
  steps.reduce((value, step) => (isObject(value) ? value[step] : undefined), item)

export function selectsLinks(query: string): boolean {
  if (query === '') return true
  const [, selection] = /(?:^|&)(?:\$|%24)select=([^&]*)/i.exec(query) ?? []
  if (selection === undefined) return true
  const names = selection.split(/,|%2c/i).map((name) => name.replace(/\+|%20/g, ' ').trim())
  return names.some((name) => name === '*' || name === '%2A' || name === 'links')
}
