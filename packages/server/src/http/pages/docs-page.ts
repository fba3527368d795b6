/** /docs: one page that loads nothing from other servers. */
import type { Namespace, Operation } from '@hyperplane/contract'

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2563eb }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem 1.5rem 4rem }
h1 { font-size: 1.5rem } h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; font-size: 1.2rem }
code { font: 13px ui-monospace, monospace } input { font: inherit; padding: .4rem .7rem; width: 100%; max-width: 30rem }
details { border-bottom: 1px solid var(--soft); padding: .25rem 0 } summary { cursor: pointer; display: flex; gap: .75rem; align-items: baseline }
summary::-webkit-details-marker { display: none }
.method { color: var(--accent); font-weight: 600; min-width: 4.2rem } dl { display: grid; grid-template-columns: 9rem 1fr; gap: .2rem 1rem; margin: .5rem 0 1rem 5rem }
dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere } nav a { margin-right: 1rem }`

const script = `
const box = document.querySelector('input')
box.addEventListener('input', () => {
  const wanted = box.value.toLowerCase()
  for (const row of document.querySelectorAll('details')) row.hidden = !row.dataset.text.includes(wanted)
})`

export function browsePage(contract: readonly Namespace[]): string {
  const links = contract
    .flatMap((namespace) =>
      namespace.versions.map(
        (version) => `<a href="/openapi/${namespace.name}/${version}.json">${namespace.name} ${version}</a>`,
      ),
    )
    .join('')
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hyperplane: operations</title><style>${style}</style>
<h1>Hyperplane: operations</h1>
<p>OpenAPI documents:</p><nav>${links}</nav>
<p><input type="search" placeholder="Filter by name, path or role" aria-label="Filter"></p>
${contract.map(section).join('\n')}
<script>${script}</script></html>
`
}

function section(namespace: Namespace): string {
  const rows = namespace.operations
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
    .map((operation) => row(namespace, operation))
  return `<h2 id="${namespace.name}">${namespace.name} <small>${namespace.versions.join(', ')}</small></h2>\n${rows.join('\n')}`
}

function row(namespace: Namespace, operation: Operation): string {
  const { per, xsmall, small, large, xlarge } = operation.rateLimit
  const roles = operation.roles === 'everyone' ? 'everyone who is authenticated' : operation.roles.join(', ')
  const facts: [string, string | undefined][] = [
    ['Roles', roles],
    [
      'Rate',
      `${[xsmall, small, large, xlarge].map((figure) => figure ?? '-').join(' / ')} a ${per} (xsmall / small / large / xlarge)`,
    ],
    ['Deployments', operation.deployments.join(', ')],
    ['Answers', `${operation.status} ${operation.runs === 'async' ? '(task)' : ''}`],
    ['IAM operation', operation.iamOperation],
    [
      'Required',
      [
        operation.requestId === 'required' ? 'SVC-Request-Id' : '',
        operation.ifMatch === 'required' ? 'If-Match' : '',
        operation.clusterId === 'required' ? 'X-Cluster-Id' : '',
      ]
        .filter((name) => name !== '')
        .join(', '),
    ],
    ['$filter', operation.filter?.join(', ')],
    ['$orderby', operation.orderby?.join(', ')],
    ['$expand', operation.expand === undefined ? undefined : Object.keys(operation.expand).join(', ')],
  ]
  const list = facts
    .map(([name, value]) => (value ? `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>` : ''))
    .join('')
  const path = `/api/${namespace.name}/${operation.versions[0]}${operation.path}`
  return `<details data-text="${escapeHtml(`${operation.key} ${path} ${roles}`.toLowerCase())}"><summary><span class="method">${operation.method}</span><code>${escapeHtml(path)}</code><span>${operation.id}</span></summary><dl>${list}</dl></details>`
}
