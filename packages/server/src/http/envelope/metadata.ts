/** The JSON text of `metadata`. Source: conventions 2.3. */

import { ApiResponseMetadata } from '@hyperplane/contract/envelope'
import type { Reply } from '../../core/reply.ts'
import { type RenderSettings, rendererOf } from '../profiles/render.ts'
import type { Link } from './answer-context.ts'

export interface MetadataParts {
  readonly links: readonly Link[]
  readonly hasError?: boolean
  readonly total?: Reply['total'] | undefined
  readonly truncated?: Reply['truncated'] | undefined
  readonly truncatedIndexes?: Reply['truncatedIndexes'] | undefined
  readonly warnings?: Reply['warnings'] | undefined
}

/** Occurs in no link. */
const placeholder = '\u0000'

export function metadataWriter(settings: RenderSettings, isPaged: boolean): (parts: MetadataParts) => string {
  const render = rendererOf(ApiResponseMetadata, settings)
  const renderAll = ({ links, hasError, total, truncated, truncatedIndexes, warnings = [] }: MetadataParts): string =>
    render(
      {
        flags: [
          { name: 'hasError', value: hasError === true },
          { name: 'isPaginated', value: isPaged },
          { name: 'isTruncated', value: truncated === true },
        ],
        links,
        totalAvailableResults: total,
        messages: warnings.map((message) => ({ code: 'PLAT-10000', message, locale: 'en_US', severity: 'WARNING' })),
        ...(truncatedIndexes === undefined
          ? {}
          : { extraInfo: [{ name: 'truncatedIndexes', value: truncatedIndexes }] }),
      },
      '',
    )
  // Most metadata differs only in the link `self`: the rest is rendered once.
  const [before = '', after = ''] = renderAll({ links: [{ href: placeholder, rel: 'self' }] }).split(
    JSON.stringify(placeholder),
  )
  return (parts) => {
    const { links, hasError, total, truncated, warnings = [] } = parts
    const isOnlySelf =
      links.length === 1 &&
      links[0]?.rel === 'self' &&
      total === undefined &&
      truncated !== true &&
      hasError !== true &&
      warnings.length === 0
    return isOnlySelf ? `${before}${JSON.stringify(links[0]?.href)}${after}` : renderAll(parts)
  }
}
