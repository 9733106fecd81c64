{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "autopilot.labels" -}}
app: autopilot
app.kubernetes.io/name: autopilot
app.kubernetes.io/component: agent
{{- end }}

{{- define "autopilot.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What every container may not. */ -}}
{{- define "autopilot.noRights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- end }}

{{- define "autopilot.isFull" -}}
{{- if not (has .Values.profile (list "dropin" "full")) -}}
{{- fail (printf "profile: expected dropin or full, not %q" .Values.profile) -}}
{{- end -}}
{{- if eq .Values.profile "full" }}true{{ end -}}
{{- end }}

{{- define "autopilot.keepsState" -}}
{{- $kind := .Values.state.kind | default (ternary "hostPath" "emptyDir" (eq .Values.profile "full")) -}}
{{- if not (has $kind (list "emptyDir" "hostPath")) -}}
{{- fail (printf "state.kind: expected emptyDir or hostPath, not %q" $kind) -}}
{{- end -}}
{{- if eq $kind "hostPath" }}true{{ end -}}
{{- end }}

{{- /* It becomes part of expressions of the admission policies. */ -}}
{{- define "autopilot.prefix" -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" .Values.labelPrefix) -}}
{{- fail (printf "labelPrefix: expected a DNS name, not %q" .Values.labelPrefix) -}}
{{- end -}}
{{ .Values.labelPrefix }}
{{- end }}
