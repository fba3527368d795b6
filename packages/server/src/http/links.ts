/** Links: pages of a list, the task of an asynchronous operation, the entity itself. Source: conventions 2.3. */

import type { Namespace, Operation } from '@hyperplane/contract'
import type { Reply } from '../core/reply.ts'
import type { Asked, Link } from './asked.ts'
import { pathIn } from './profiles/names.ts'

type Namespaces = ReadonlyMap<string, Namespace>

/** Links of the envelope. */
export function linksOf(reply: Reply, operation: Operation, asked: Asked, namespaces: Namespaces): readonly Link[] {
  if (reply.status === 202 && reply.location !== undefined) {
    const self = { href: `${asked.origin}${asked.base}${pathIn(asked.profile, reply.location)}`, rel: 'self' }
    const collection = collectionOf(operation, namespaces)
    if (collection === undefined) return [self]
    const path = pathIn(asked.profile, `/${operation.namespace}/${reply.version}${collection}`)
    return [self, { href: `${asked.origin}${asked.base}${path}`, rel: 'collection' }]
  }
  if (reply.page === undefined || reply.total === undefined) return [{ href: hrefOf(asked, asked.query), rel: 'self' }]
  const { page, limit } = reply.page
  const last = limit === 0 ? 0 : Math.max(0, Math.ceil(reply.total / limit) - 1)
  const kept = asked.query.split('&').filter((part) => part !== '' && !/^(?:\$|%24)(?:page|limit)(?:=|$)/i.test(part))
  const at = (number: number): string => hrefOf(asked, [...kept, `$page=${number}`, `$limit=${limit}`].join('&'))
  const links = [
    { href: at(page), rel: 'self' },
    { href: at(0), rel: 'first' },
    { href: at(last), rel: 'last' },
  ]
  if (page > 0 && page <= last + 1) links.push({ href: at(page - 1), rel: 'prev' })
  if (page < last) links.push({ href: at(page + 1), rel: 'next' })
  return links
}

/** The path that was asked for, in the names of its profile. */
export function hrefOf(asked: Asked, query = ''): string {
  const own = `${asked.origin}${asked.base}${pathIn(asked.profile, asked.path)}`
  return query === '' ? own : `${own}?${query}`
}

function collectionOf(operation: Operation, namespaces: Namespaces): string | undefined {
  const kind = operation.resource?.kind
  if (kind === undefined) return undefined
  const list = namespaces
    .get(operation.namespace)
    ?.operations.find((other) => other.verb === 'list' && other.resource?.kind === kind)
  return list === undefined || list.path.includes('{') ? undefined : list.path
}

/** An entity with a link to itself, where it can be read one by one. */
export type Linked = (item: any, version: string | undefined) => any

/** undefined: entities of the operation's answer carry none. */
export function selfLinks(operation: Operation, namespaces: Namespaces): Linked | undefined {
  const { resource } = operation
  if (resource === undefined || operation.runs === 'async' || resource.schema.fields['links'] === undefined)
    return undefined
  const getter = namespaces
    .get(operation.namespace)
    ?.operations.find((other) => other.verb === 'get' && other.resource === resource)
  if (getter === undefined) return undefined
  // Every second piece is the name of a variable.
  const pieces = getter.path.split(/[{}]/)
  const parentParameter = resource.parent?.param
  const parentSteps = resource.parent?.field.split('/') ?? []
  // The world of what the control interface keeps: an entity does not tell it.
  const isElsewhere = pieces.some((piece, index) => index % 2 === 1 && piece === 'worldName')
  if (isElsewhere) return undefined
  const namesParent = pieces.some((piece, index) => index % 2 === 1 && piece === parentParameter)
  return (item, version) => {
    if (typeof item?.extId !== 'string' || item.links !== undefined) return item
    const parent = namesParent ? parentSteps.reduce((at, step) => at?.[step], item) : undefined
    // A selection that leaves the parent out leaves no way to the entity.
    if (namesParent && parent === undefined) return item
    let href = `/${operation.namespace}/${version}${pieces[0]}`
    for (let index = 1; index < pieces.length; index += 2)
      href += `${pieces[index] === parentParameter ? parent : item.extId}${pieces[index + 1]}`
    return { ...item, links: [{ href, rel: 'self' }] }
  }
}

/** Whether a selection, if there is one, names the links. */
export function selectsLinks(query: string): boolean {
  if (query === '') return true
  const [, given] = /(?:^|&)(?:\$|%24)select=([^&]*)/i.exec(query) ?? []
  if (given === undefined) return true
  const names = given.split(/,|%2c/i).map((name) => name.replace(/\+|%20/g, ' ').trim())
  return names.some((name) => name === '*' || name === '%2A' || name === 'links')
}
